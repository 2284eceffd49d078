// Two texts side by side, with inserted, deleted and changed passages marked, and changed figures in their own way.

const PATIENCE = 400; // milliseconds for the words of one pair; then whole lines are compared
const MOST_EDITS = 4000;
// A number, a character of a script written without spaces, a word or a single mark, each with the spaces behind it; or a line end.
const TOKEN =
  /(?:\p{N}+(?:[.,:]\p{N}+)*|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|[\p{L}\p{M}\p{N}_]+(?:['’-][\p{L}\p{M}\p{N}_]+)*|\S)[^\S\n]*|\n|[^\S\n]+/gu;
const tokensOf = (text) => text.match(TOKEN) ?? [];
const linesOfText = (text) => text.split(/(?<=\n)/);
const isWord = /[\p{L}\p{N}]/u;
const endsSentence = /[.!?。！？]["'”’)]?\s*$/u;
const isSame = (one, other) => one === other || (one !== '\n' && other !== '\n' && one.trimEnd() === other.trimEnd());
const MOST_SLIDES = 200; // tokens

// Return runs {same, left, right}: what both texts have at this place (`same`), or what only one of them has.
function differencesOf(left, right) {
  return runsOf(tokensOf(left), tokensOf(right)) ?? runsOf(linesOfText(left), linesOfText(right)) ?? [{ same: false, left, right }];
}

function runsOf(left, right) {
  const found = Diff.diffArrays(left, right, { timeout: PATIENCE, maxEditLength: MOST_EDITS, comparator: isSame });
  if (!found) return null;
  const runs = [{ same: true, left: [], right: [] }];
  const place = { left: 0, right: 0 };
  const take = (side, tokens, count) => {
    place[side] += count;
    return tokens.slice(place[side] - count, place[side]);
  };
  for (const part of found) {
    const run = { same: !part.added && !part.removed, left: [], right: [] };
    if (!part.added) run.left = take('left', left, part.count);
    if (!part.removed) run.right = take('right', right, part.count);
    const last = runs[runs.length - 1];
    if (last.same === run.same) {
      last.left = last.left.concat(run.left);
      last.right = last.right.concat(run.right);
    } else {
      runs.push(run);
    }
  }
  for (let run = 1; run + 1 < runs.length; run += 1) slide(runs[run - 1], runs[run], runs[run + 1]);
  const written = runs.map(({ same, left: one, right: other }) => ({ same, left: one.join(''), right: other.join('') }));
  return joinRuns(joinRuns(written.filter((run) => run.left || run.right), isMark), isIsland);
}

// Let a passage that only one text has begin with a line or a sentence, if the words around it repeat: of "A B A C", "B A"
// may be deleted as well as "A B".
function slide(before, run, after) {
  const side = run.left.length ? 'left' : 'right';
  if (run.same || (run.left.length && run.right.length)) return;
  const forward = () => {
    run[side].push(after[side].shift());
    before[side].push(run[side].shift());
    const other = side === 'left' ? 'right' : 'left';
    before[other].push(after[other].shift());
  };
  const back = () => {
    run[side].unshift(before[side].pop());
    after[side].unshift(run[side].pop());
    const other = side === 'left' ? 'right' : 'left';
    after[other].unshift(before[other].pop());
  };
  const fit = () => {
    const token = before[side].at(-1) ?? '\n';
    return (token === '\n' ? 4 : endsSentence.test(token) ? 2 : 0) + (run[side].at(-1) === '\n' ? 1 : 0);
  };
  let at = 0;
  const fits = new Map([[0, fit()]]);
  for (; at > -MOST_SLIDES && before[side].length && before[side].at(-1) === run[side].at(-1); fits.set(at, fit())) {
    back();
    at -= 1;
  }
  for (; at < MOST_SLIDES && after[side].length && after[side][0] === run[side][0]; fits.set(at, fit())) {
    forward();
    at += 1;
  }
  const best = [...fits].sort(([one, oneFit], [other, otherFit]) => otherFit - oneFit || Math.abs(one) - Math.abs(other))[0][0];
  for (; at > best; at -= 1) back();
}

const wordsOf = (run) => Math.max(...[run.left, run.right].map((text) => text.split(/\s+/).filter((word) => isWord.test(word)).length));

// Whether two changes have nothing but a space or comma between them.
const isMark = (last, run) => wordsOf(run) === 0;
// Whether one or two words stand between two long passages.
const isIsland = (last, run, next) => wordsOf(run) <= 2 && wordsOf(last) >= 3 * wordsOf(run) && wordsOf(next) >= 3 * wordsOf(run);

// Join changes that a reader takes for one: a passage reads better than its words one by one.
function joinRuns(runs, isGap) {
  const joined = [];
  for (let place = 0; place < runs.length; place += 1) {
    const run = runs[place];
    const last = joined[joined.length - 1];
    const next = runs[place + 1];
    if (last && !last.same && (!run.same || (next && !run.left.includes('\n') && isGap(last, run, next)))) {
      last.left += run.left;
      last.right += run.right;
    } else {
      joined.push({ ...run });
    }
  }
  return joined;
}

// Cut a text from `start` to `end` where figures begin and end.
function piecesOf(marked, start, end) {
  const cuts = new Set([start, end]);
  for (const place of marked.figures.flat()) if (place > start && place < end) cuts.add(place);
  const places = [...cuts].sort((one, other) => one - other);
  return places.slice(1).map((behind, place) => ({
    text: marked.text.slice(places[place], behind),
    isFigure: marked.figures.some(([from, to]) => from <= places[place] && behind <= to),
  }));
}

// Return the nodes of a part of a text. Spaces at the end of a change are not marked.
function paint(marked, start, end, tag, isChange, number) {
  const behind = tag ? start + marked.text.slice(start, end).trimEnd().length : end;
  if (behind < end) return [...paint(marked, start, behind, tag, isChange, number), ...paint(marked, behind, end)];
  const nodes = piecesOf(marked, start, end).map((piece) => (tag && piece.isFigure ? element('strong', { class: 'figure' }, piece.text) : piece.text));
  return tag && start < end ? [element(tag, { class: isChange ? 'changed' : '', 'data-change': number }, ...nodes)] : nodes;
}

const WHY_LEFT_OUT = { boilerplate: 'boilerplate: in several different stories', short: 'a short line: navigation, caption or byline' };
const leftOut = (marked, block) => element('span', { class: 'left-out', 'data-why': block.why === 'short' ? 'short line' : block.why, title: WHY_LEFT_OUT[block.why] }, marked.text.slice(block.start, block.end));

// One text without the passages that the plugin left out. `blocks` are these passages, and `at` is where they stood.
// Places in `text` are places of the text that was kept.
class KeptText {
  constructor(marked) {
    this.marked = marked;
    this.parts = []; // {at, start}: from here on, places in the kept text belong to places in the whole text
    this.blocks = [];
    this.text = '';
    let end = 0;
    for (const block of this.lines()) {
      this.keep(end, block.start);
      this.blocks.push({ ...block, at: this.text.length });
      end = block.end;
    }
    this.keep(end, marked.text.length);
    if (!this.text.endsWith('\n')) this.text += '\n'; // so that the last line can be compared with a line in the middle
    this.next = 0; // the block that is painted next
    this.place = 0;
  }

  // Passages from the start of a line on are taken with their line end.
  lines() {
    const { text, boilerplate, short } = this.marked;
    const blocks = [...boilerplate.map((span) => [...span, 'boilerplate']), ...short.map((span) => [...span, 'short'])];
    const joined = [];
    for (const [start, end, why] of blocks.sort((one, other) => one[0] - other[0])) {
      const last = joined.at(-1);
      if (last?.why === why && /^\s*$/.test(text.slice(last.end, start))) last.end = end;
      else joined.push({ start, end, why });
    }
    return joined.map(({ start, end, why }) => {
      const isWhole = (start === 0 || text[start - 1] === '\n') && text[end] === '\n';
      return { start, end: isWhole ? end + 1 : end, why };
    });
  }

  keep(start, end) {
    if (end <= start) return;
    this.parts.push({ at: this.text.length, start });
    this.text += this.marked.text.slice(start, end);
  }

  get isAtBlock() {
    return this.next < this.blocks.length && this.blocks[this.next].at <= this.place;
  }

  takeBlock() {
    this.next += 1;
    return leftOut(this.marked, this.blocks[this.next - 1]);
  }

  // Paint the next characters. A passage that was left out between them stands between them.
  take(length, tag, isChange, number) {
    const nodes = [];
    const end = this.place + length;
    while (this.place < end) {
      while (this.isAtBlock) nodes.push(this.takeBlock());
      const stop = Math.min(end, this.blocks[this.next]?.at ?? end);
      const start = this.wholePlace(this.place);
      nodes.push(...paint(this.marked, start, Math.min(start + stop - this.place, this.marked.text.length), tag, isChange, number));
      this.place = stop;
    }
    return nodes.filter((node) => node !== '');
  }

  wholePlace(place) {
    const part = this.parts.findLast((each) => each.at <= place);
    return part ? part.start + place - part.at : this.marked.text.length;
  }
}

// Return the rows of both sides. A row ends where both texts end a line. A line that only one text has, and one that was
// left out, is a row of its own, so that it stands beside the place where the other text has nothing.
function rowsOf(left, right) {
  const sides = { left: new KeptText(left), right: new KeptText(right) };
  const rows = [];
  let row = { left: [], right: [], isSame: true };
  let changes = 0;
  const isEmpty = () => !row.left.length && !row.right.length;
  const push = () => {
    if (!isEmpty()) rows.push(row);
    row = { left: [], right: [], isSame: true };
  };
  const close = () => {
    push();
    while (sides.left.isAtBlock || sides.right.isAtBlock) {
      for (const side of ['left', 'right']) if (sides[side].isAtBlock) row[side].push(sides[side].takeBlock());
      row.isSame = false;
      push();
    }
  };
  close();
  for (const run of differencesOf(sides.left.text, sides.right.text)) {
    if (run.same) {
      const lines = linesOfText(run.right);
      linesOfText(run.left).forEach((line, number) => {
        row.left.push(...sides.left.take(line.length));
        row.right.push(...sides.right.take(lines[number].length));
        if (line.endsWith('\n')) close();
      });
    } else {
      const isChange = run.left.trim() !== '' && run.right.trim() !== '';
      if ((run.left + run.right).trim() !== '') changes += 1;
      const takeBoth = (one, other) => {
        row.isSame = false;
        row.left.push(...sides.left.take(one.length, 'del', isChange, changes));
        row.right.push(...sides.right.take(other.length, 'ins', isChange, changes));
      };
      const isWhole = isEmpty() && [run.left, run.right].every((text) => !text || text.endsWith('\n'));
      if (isWhole && !isChange) {
        const count = Math.max(linesOfText(run.left).length, linesOfText(run.right).length);
        for (let line = 0; line < count; line += 1) {
          takeBoth(linesOfText(run.left)[line] ?? '', linesOfText(run.right)[line] ?? '');
          close();
        }
      } else {
        takeBoth(run.left, run.right);
        if (isWhole) close();
      }
    }
  }
  close();
  return { rows, changes, leftOut: sides.left.blocks.length + sides.right.blocks.length };
}

// The panel that compares an item with its match or its original. `tools` are further buttons of its head.
class Comparison {
  constructor(item, title, tools = []) {
    this.item = item;
    this.at = 0; // the number of the change that is marked
    this.other = data.match[item] >= 0 ? data.match[item] : data.original[item];
    this.heading = element('h3', { tabindex: '-1' }, title);
    const steps = [button('Previous change', () => this.step(-1), {}, 'p'), button('Next change', () => this.step(1), {}, 'n')];
    this.facts = element('p', { class: 'facts' });
    this.sides = element('div', { class: 'sides' });
    this.head = element('div', { class: 'head' }, this.heading, ...this.choices(), ...steps, ...tools);
    this.node = element('section', { class: 'compare', 'aria-label': 'Side by side' }, this.head, this.facts, this.sides);
    this.ready = this.draw();
  }

  // Buttons to compare with the match or with the original, if they differ.
  choices() {
    const original = data.original[this.item];
    if (original < 0 || original === this.other || original === this.item) return [];
    this.choice = [['Match', this.other], ['Original', original]].map(([label, other]) =>
      button(label, () => this.turnTo(other), { 'data-other': other, 'aria-pressed': String(other === this.other) }, label === 'Original' ? 'o' : ''));
    return this.choice;
  }

  turnTo(other) {
    this.other = other;
    for (const each of this.choice) each.setAttribute('aria-pressed', String(Number(each.dataset.other) === other));
    this.ready = this.draw();
  }

  toggleOriginal() {
    if (this.choice) this.turnTo(Number(this.choice.find((each) => Number(each.dataset.other) !== this.other).dataset.other));
  }

  async draw() {
    const { item, other } = this;
    this.facts.replaceChildren(...this.factsOf());
    const left = other >= 0 ? await textOf(other) : null;
    const right = await textOf(item);
    const titles = [
      other >= 0 ? this.titleOf(other, this.role) : this.absent(),
      this.titleOf(item, 'This item'),
    ];
    this.at = 0;
    if (!left || !right) {
      const sides = [left, right].map((each, place) => this.single(each, place === 0 ? other : item));
      this.sides.replaceChildren(...titles, ...sides);
      return;
    }
    const { rows, changes, leftOut: passages } = rowsOf(left, right);
    this.sides.replaceChildren(
      ...titles,
      ...rows.flatMap((row) => [row.left, row.right].map((nodes) => element('div', { class: row.isSame ? 'text same' : 'text', dir: 'auto' }, ...nodes))),
    );
    const figures = this.sides.querySelectorAll('.figure').length;
    this.facts.append(` ${changes ? counted(changes, 'change') : 'No difference'}${figures ? `, figures among them marked like ` : ''}`);
    if (figures) this.facts.append(element('strong', { class: 'figure' }, 'this'));
    if (passages) this.facts.append(`; ${counted(passages, 'passage')} left out of the comparison`);
    this.facts.append('. ', this.legend(passages > 0));
  }

  get role() {
    return this.other === data.original[this.item] && this.other !== data.match[this.item] ? 'Original' : 'Match';
  }

  legend(hasLeftOut) {
    return element('span', { class: 'keys' }, `Only in the ${this.role.toLowerCase()}: `, element('del', {}, 'deleted'), ' · only in this item: ', element('ins', {}, 'inserted'),
      ' · different in both: ', element('ins', { class: 'changed' }, 'changed'), hasLeftOut ? [' · not compared: ', element('span', { class: 'left-out' }, 'left out')] : null);
  }

  factsOf() {
    const { item } = this;
    const numbers = ['similarity', 'containment', 'share'].filter((column) => shareOf(column, item) !== null)
      .map((column) => `${column} ${percent(shareOf(column, item))}`);
    return [badge(verdictOf(item), kindOf(item)), ` ${whyOf(item)}${numbers.length ? ` (${numbers.join(', ')})` : ''}.`];
  }

  titleOf(item, role) {
    return element('div', { class: 'title' }, element('div', { class: 'role' }, role), element('strong', {}, linkTo(data.url[item], data.title[item])),
      element('div', { class: 'meta' }, sourceOf(item) || 'no source', ' · ', moment(data.time[item])));
  }

  absent() {
    const name = data.elsewhere[this.item];
    const what = name ? [linkTo(name, name), ' is in none of these feeds.'] : ['This item has no match.'];
    return element('div', { class: 'title' }, element('div', { class: 'role' }, 'Match'), ...what);
  }

  single(marked, item) {
    if (item < 0) return element('div', {});
    if (!marked) return element('div', { class: 'text empty' }, 'The text of this item is not in this page.');
    const kept = new KeptText(marked);
    const nodes = kept.take(kept.text.length);
    while (kept.isAtBlock) nodes.push(kept.takeBlock());
    return element('div', { class: 'text', dir: 'auto' }, ...nodes);
  }

  // Go to the next or the previous change, on both sides.
  step(direction) {
    const changes = [...this.sides.querySelectorAll('[data-change]')];
    const most = Math.max(0, ...changes.map((each) => Number(each.dataset.change)));
    if (!most) return;
    this.at = this.at + direction < 1 ? most : (this.at + direction - 1) % most + 1;
    for (const each of changes) each.classList.toggle('at', Number(each.dataset.change) === this.at);
    this.sides.querySelector('.at').scrollIntoView({ block: 'center' });
  }

  // Answer a key; return whether it was one of the panel's.
  key(name) {
    if (name === 'n') this.step(1);
    else if (name === 'p') this.step(-1);
    else if (name === 'o') this.toggleOriginal();
    else return false;
    return true;
  }
}
