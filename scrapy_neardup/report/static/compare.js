// Two texts side by side. What one of them lacks is marked in the other, numbers in it in their own way, and short lines
// that the plugin leaves out of a fingerprint are shown but not compared.

const NUMBER = /(\p{N}+(?:[.,:]\p{N}+)*)/u;

// Return the nodes of a part of a text. Numbers in a change are marked, and spaces at its end are not.
function paint(marked, start, end, tag, number) {
  const text = marked.text.slice(start, end);
  if (!tag) return [text];
  const change = text.trimEnd();
  const pieces = change.split(NUMBER).map((piece, place) => (place % 2 ? element('strong', { class: 'figure' }, piece) : piece));
  return [change ? element(tag, { 'data-change': number }, ...pieces) : '', text.slice(change.length)];
}

const leftOut = (marked, { start, end }) => element('span', { class: 'left-out', title: 'a short line: navigation, caption or byline' }, marked.text.slice(start, end));

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
    if (!this.text.endsWith('\n')) { // so that the last line can be compared with a line in the middle
      this.parts.push({ at: this.text.length, start: marked.text.length });
      this.text += '\n';
    }
    this.next = 0; // the block that is painted next
    this.place = 0;
  }

  // Passages from the start of a line on are taken with their line end.
  lines() {
    const { text, short } = this.marked;
    const joined = [];
    for (const [start, end] of short) {
      const last = joined.at(-1);
      if (last && /^\s*$/.test(text.slice(last.end, start))) last.end = end;
      else joined.push({ start, end });
    }
    return joined.map(({ start, end }) => {
      const isWhole = (start === 0 || text[start - 1] === '\n') && text[end] === '\n';
      return { start, end: isWhole ? end + 1 : end };
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
  take(length, tag, number) {
    const nodes = [];
    const end = this.place + length;
    while (this.place < end) {
      while (this.isAtBlock) nodes.push(this.takeBlock());
      const stop = Math.min(end, this.blocks[this.next]?.at ?? end);
      const start = this.wholePlace(this.place);
      nodes.push(...paint(this.marked, start, Math.min(start + stop - this.place, this.marked.text.length), tag, number));
      this.place = stop;
    }
    return nodes.filter((node) => node !== '');
  }

  wholePlace(place) {
    const part = this.parts.findLast((each) => each.at <= place);
    return part ? part.start + place - part.at : this.marked.text.length;
  }
}

// The rows of both sides. A row ends where both texts end a line. A line that only one text has, and one that was left
// out, is a row of its own, so that it stands beside the place where the other text has nothing.
class Rows {
  constructor(left, right) {
    this.left = new KeptText(left);
    this.right = new KeptText(right);
    this.rows = [];
    this.changes = 0;
    this.begin();
    this.close();
    for (const run of differencesOf(this.left.text, this.right.text)) {
      if (run.same) this.addSame(run);
      else this.addChange(run);
    }
    this.close();
  }

  get leftOut() {
    return this.left.blocks.length + this.right.blocks.length;
  }

  begin() {
    this.row = { left: [], right: [], isSame: true };
  }

  get isEmpty() {
    return !this.row.left.length && !this.row.right.length;
  }

  // End a row. What was left out behind it becomes rows too.
  close() {
    if (!this.isEmpty) this.rows.push(this.row);
    this.begin();
    while (this.left.isAtBlock || this.right.isAtBlock) {
      for (const side of ['left', 'right']) if (this[side].isAtBlock) this.row[side].push(this[side].takeBlock());
      this.row.isSame = false;
      this.rows.push(this.row);
      this.begin();
    }
  }

  addSame(run) {
    const lines = linesOfText(run.right);
    linesOfText(run.left).forEach((line, number) => {
      this.row.left.push(...this.left.take(line.length));
      this.row.right.push(...this.right.take(lines[number].length));
      if (line.endsWith('\n')) this.close();
    });
  }

  addChange(run) {
    const isOfBoth = run.left.trim() !== '' && run.right.trim() !== '';
    const isOfLines = this.isEmpty && [run.left, run.right].every((text) => !text || text.endsWith('\n'));
    const lines = [run.left, run.right].map(linesOfText);
    if ((run.left + run.right).trim() !== '') this.changes += 1;
    if (isOfLines && !isOfBoth) {
      for (let line = 0; line < Math.max(lines[0].length, lines[1].length); line += 1) {
        this.take(lines[0][line] ?? '', lines[1][line] ?? '');
        this.close();
      }
    } else {
      this.take(run.left, run.right);
      if (isOfLines) this.close();
    }
  }

  take(left, right) {
    this.row.isSame = false;
    this.row.left.push(...this.left.take(left.length, 'del', this.changes));
    this.row.right.push(...this.right.take(right.length, 'ins', this.changes));
  }
}

// The panel that compares an item with its match or its original. `tools` are further buttons of its head.
class Comparison {
  constructor(item, title, tools = []) {
    this.item = item;
    this.at = 0; // the number of the change that is marked
    this.other = data.match[item] >= 0 ? data.match[item] : data.original[item];
    this.heading = element('h3', { tabindex: '-1' }, title);
    const steps = [button('‹ Change', () => this.step(-1), { 'aria-label': 'Previous change' }, 'p'), button('Change ›', () => this.step(1), { 'aria-label': 'Next change' }, 'n')];
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
    const { rows, changes, leftOut: passages } = new Rows(left, right);
    this.sides.replaceChildren(
      ...titles,
      ...rows.flatMap((row) => [row.left, row.right].map((nodes) => element('div', { class: row.isSame ? 'text same' : 'text', dir: 'auto' }, ...nodes))),
    );
    const figures = this.sides.querySelectorAll('.figure').length;
    this.facts.append(` ${changes ? counted(changes, 'change') : 'No difference'}${figures ? `, numbers among them marked like ` : ''}`);
    if (figures) this.facts.append(element('strong', { class: 'figure' }, 'this'));
    if (passages) this.facts.append(`; ${counted(passages, 'passage')} not compared`);
    this.facts.append('. ', this.legend(passages > 0));
  }

  get role() {
    return this.other === data.original[this.item] && this.other !== data.match[this.item] ? 'Original' : 'Match';
  }

  legend(hasLeftOut) {
    const name = this.role.toLowerCase();
    return element('span', { class: 'keys' }, element('del', {}, `only in the ${name}`), ': missing in this item · ', element('ins', {}, 'only in this item'), `: missing in the ${name}`,
      hasLeftOut ? [' · ', element('span', { class: 'left-out' }, 'short line'), ': not compared'] : null);
  }

  factsOf() {
    const { item } = this;
    const numbers = ['similarity', 'containment', 'share'].filter((column) => shareOf(column, item) !== null)
      .map((column) => `${column} ${percent(shareOf(column, item))}`);
    return [badge(verdictOf(item), kindOf(item)), ` ${whyOf(item)}${numbers.length ? ` (${numbers.join(', ')})` : ''}.`];
  }

  titleOf(item, role) {
    return element('div', { class: 'title' }, element('div', { class: 'role' }, role), element('strong', {}, linkTo(data.url[item], data.title[item])),
      element('div', { class: 'meta' }, moment(data.time[item]), ' · ', element('bdi', { class: 'path' }, pathOf(data.url[item]) || 'no address')));
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
