// Two texts side by side, with inserted, deleted and changed passages marked, and changed figures in their own way.

const PATIENCE = 400; // milliseconds for the words of one pair; then whole lines are compared
const MOST_EDITS = 4000;
// A number, a character of a script written without spaces, a word or a single mark, each with the spaces behind it; or a line end.
const TOKEN =
  /(?:\p{N}+(?:[.,:]\p{N}+)*|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|[\p{L}\p{M}\p{N}_]+(?:['’-][\p{L}\p{M}\p{N}_]+)*|\S)[^\S\n]*|\n|[^\S\n]+/gu;
const tokensOf = (text) => text.match(TOKEN) ?? [];
const linesOfText = (text) => text.split(/(?<=\n)/);
const isWord = /[\p{L}\p{N}]/u;
const isSame = (one, other) => one === other || (one !== '\n' && other !== '\n' && one.trimEnd() === other.trimEnd());

// Return runs {left, right}: what both texts have at this place (`same`), or what only one of them has.
function differencesOf(left, right) {
  return runsOf(tokensOf(left), tokensOf(right)) ?? runsOf(linesOfText(left), linesOfText(right)) ?? [{ same: false, left, right }];
}

function runsOf(left, right) {
  const found = Diff.diffArrays(left, right, { timeout: PATIENCE, maxEditLength: MOST_EDITS, comparator: isSame });
  if (!found) return null;
  const runs = [];
  const place = { left: 0, right: 0 };
  const take = (side, tokens, count) => {
    place[side] += count;
    return tokens.slice(place[side] - count, place[side]).join('');
  };
  for (const part of found) {
    const run = { same: !part.added && !part.removed, left: '', right: '' };
    if (!part.added) run.left = take('left', left, part.count);
    if (!part.removed) run.right = take('right', right, part.count);
    const last = runs[runs.length - 1];
    if (last && !last.same && !run.same) {
      last.left += run.left;
      last.right += run.right;
    } else {
      runs.push(run);
    }
  }
  return joinRuns(joinRuns(runs, isMark), isIsland);
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

// Cut a text from `start` to `end` where marked places begin and end.
function piecesOf(marked, start, end) {
  const cuts = new Set([start, end]);
  for (const [first, behind] of [...marked.figures, ...marked.boilerplate]) {
    if (first > start && first < end) cuts.add(first);
    if (behind > start && behind < end) cuts.add(behind);
  }
  const places = [...cuts].sort((one, other) => one - other);
  const lies = (spans, first, behind) => spans.some(([from, to]) => from <= first && behind <= to);
  return places.slice(1).map((behind, place) => ({
    text: marked.text.slice(places[place], behind),
    isFigure: lies(marked.figures, places[place], behind),
    isBoilerplate: lies(marked.boilerplate, places[place], behind),
  }));
}

// Return the nodes of a part of a text. Spaces at the end of a change are not marked.
function paint(marked, start, end, tag, isChange, number) {
  const behind = tag ? start + marked.text.slice(start, end).trimEnd().length : end;
  if (behind < end) return [...paint(marked, start, behind, tag, isChange, number), ...paint(marked, behind, end)];
  const nodes = piecesOf(marked, start, end).map((piece) => {
    if (tag && piece.isFigure) return element('strong', { class: 'figure' }, piece.text);
    if (piece.isBoilerplate) return element('span', { class: 'boilerplate', title: 'boilerplate: in several different stories' }, piece.text);
    return piece.text;
  });
  return tag && start < end ? [element(tag, { class: isChange ? 'changed' : '', 'data-change': number }, ...nodes)] : nodes;
}

// Return the rows of both sides. A row ends where both texts end a line.
function rowsOf(left, right) {
  const rows = [];
  let row = { left: [], right: [], isSame: true };
  const place = { left: 0, right: 0 };
  let changes = 0;
  const close = () => {
    if (row.left.length || row.right.length) rows.push(row);
    row = { left: [], right: [], isSame: true };
  };
  for (const run of differencesOf(left.text, right.text)) {
    if (run.same) {
      const lines = linesOfText(run.right);
      linesOfText(run.left).forEach((line, number) => {
        row.left.push(...paint(left, place.left, place.left + line.length));
        row.right.push(...paint(right, place.right, place.right + lines[number].length));
        place.left += line.length;
        place.right += lines[number].length;
        if (line.endsWith('\n')) close();
      });
    } else {
      const isChange = run.left.trim() !== '' && run.right.trim() !== '';
      if ((run.left + run.right).trim() !== '') changes += 1;
      row.isSame = false;
      row.left.push(...paint(left, place.left, place.left + run.left.length, 'del', isChange, changes));
      row.right.push(...paint(right, place.right, place.right + run.right.length, 'ins', isChange, changes));
      place.left += run.left.length;
      place.right += run.right.length;
    }
  }
  close();
  return { rows, changes };
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
      other >= 0 ? this.titleOf(other, other === data.original[item] && other !== data.match[item] ? 'Original' : 'Match') : this.absent(),
      this.titleOf(item, 'This item'),
    ];
    this.at = 0;
    if (!left || !right) {
      const sides = [left, right].map((each, place) => this.single(each, place === 0 ? other : item));
      this.sides.replaceChildren(...titles, ...sides);
      return;
    }
    const { rows, changes } = rowsOf(left, right);
    this.sides.replaceChildren(
      ...titles,
      ...rows.flatMap((row) => [row.left, row.right].map((nodes) => element('div', { class: row.isSame ? 'text same' : 'text', dir: 'auto' }, ...nodes))),
    );
    const figures = this.sides.querySelectorAll('.figure').length;
    this.facts.append(` ${changes ? counted(changes, 'change') : 'No difference'}${figures ? `, figures among them marked like ` : ''}`);
    if (figures) this.facts.append(element('strong', { class: 'figure' }, 'this'));
    this.facts.append('. ', this.legend());
  }

  legend() {
    return element('span', { class: 'keys' }, 'Only on the left: ', element('del', {}, 'deleted'), ' · only on the right: ', element('ins', {}, 'inserted'), ' · on both: ',
      element('ins', { class: 'changed' }, 'changed'), ' · ', element('span', { class: 'boilerplate' }, 'boilerplate'));
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
    return element('div', { class: 'text', dir: 'auto' }, ...paint(marked, 0, marked.text.length));
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
