// Two texts side by side. What one of them lacks is marked in the other, and numbers in it in their own way.

const PIECES = /(\p{N}+(?:[.,:]\p{N}+)*)/u; // numbers
const isNumber = (piece) => /^\p{N}/u.test(piece);

// Return the nodes of some tokens. Numbers in a change are marked, and spaces at its end are not.
function paint(tokens, tag, number) {
  const text = joined(tokens);
  const change = text.trimEnd();
  if (!tag || !change) return text ? [text] : [];
  const pieces = change.split(PIECES).map((piece) => (isNumber(piece) ? element('strong', { class: 'figure' }, piece) : piece));
  return [element(tag, { 'data-change': number }, ...pieces), text.slice(change.length)].filter((node) => node !== '');
}

// Return the rows of both sides, and the number of changes. A row ends where both texts end a line. A line that only one
// text has is a row of its own, so that it is beside the place where the other has nothing.
function rowsOf(left, right) {
  const rows = [];
  let changes = 0;
  let row = null;
  const begin = () => { row = { left: [], right: [], isSame: true }; };
  const isEmpty = () => !row.left.length && !row.right.length;
  const close = () => {
    if (!isEmpty()) rows.push(row);
    begin();
  };
  const add = (tokens, isChange) => {
    row.isSame &&= !isChange;
    row.left.push(...paint(tokens[0], isChange && 'del', changes));
    row.right.push(...paint(tokens[1], isChange && 'ins', changes));
    if (tokens.every(endsLine)) close();
  };
  begin();
  for (const run of differencesOf(left, right)) {
    const sides = [run.left, run.right];
    const blank = sides.filter((tokens) => joined(tokens).trim() === '').length;
    if (!run.same && blank < 2) changes += 1;
    if (run.same || (isEmpty() && blank && sides.every(endsLine))) {
      const lines = sides.map(splitLines);
      const most = Math.max(lines[0].length, lines[1].length);
      for (let line = 0; line < most; line += 1) add(lines.map((side) => side[line] ?? []), !run.same);
    } else {
      add(sides, true);
    }
  }
  close();
  return { rows, changes };
}

// The panel that compares an item with its match. `tools` are further buttons of its head.
class Comparison {
  constructor(item, title, tools = []) {
    this.item = item;
    this.at = 0; // the number of the change that is marked
    this.other = items[item].match ?? -1;
    this.heading = element('h3', { tabindex: '-1' }, title);
    const steps = [button('‹ Change', () => this.step(-1), { 'aria-label': 'Previous change' }, 'p'), button('Change ›', () => this.step(1), { 'aria-label': 'Next change' }, 'n')];
    this.facts = element('p', { class: 'facts' });
    this.sides = element('div', { class: 'sides' });
    this.head = element('div', { class: 'head' }, this.heading, ...steps, ...tools);
    const loses = isDrop(item);
    this.node = element('section', { class: loses ? 'compare loses' : 'compare', 'aria-label': 'Side by side' }, this.head, this.facts, this.sides);
    this.draw();
  }

  draw() {
    const { item, other } = this;
    this.facts.replaceChildren(...this.factsOf());
    const [left, right] = [other, item].map(textOf).map((text) => text && tokensOf(text));
    const titles = [
      other >= 0 ? this.titleOf(other, 'Match') : this.absent(),
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
    this.facts.append(` ${changes ? counted(changes, 'change') : 'No difference'}${figures ? `, numbers among them marked like ` : ''}`);
    if (figures) this.facts.append(element('strong', { class: 'figure' }, 'this'));
    this.facts.append('. ', element('span', { class: 'keys' }, element('del', {}, 'only in the match'), ': missing in this item · ', element('ins', {}, 'only in this item'), ': missing in the match'));
  }

  factsOf() {
    const { item } = this;
    const numbers = ['similarity', 'containment', 'share'].filter((column) => shareOf(column, item) !== null)
      .map((column) => `${column} ${percent(shareOf(column, item))}`);
    return [badge(verdictOf(item), kindOf(item)), ` ${whyOf(item)}${numbers.length ? ` (${numbers.join(', ')})` : ''}.`];
  }

  titleOf(item, role) {
    return element('div', { class: 'title' }, element('div', { class: 'role' }, role), element('strong', {}, linkTo(items[item].url, items[item].title)),
      element('div', { class: 'meta' }, moment(timeOf(item)), ' · ', element('bdi', { class: 'path' }, pathOf(items[item].url) || 'no address')));
  }

  absent() {
    const name = items[this.item].elsewhere;
    const what = name ? [linkTo(name, name), ' is in none of these feeds.'] : ['This item has no match.'];
    return element('div', { class: 'title' }, element('div', { class: 'role' }, 'Match'), ...what);
  }

  single(tokens, item) {
    if (item < 0) return element('div', {});
    if (!tokens) return element('div', { class: 'text empty' }, 'The text of this item is not in this page.');
    return element('div', { class: 'text', dir: 'auto' }, ...paint(tokens));
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
    else return false;
    return true;
  }
}
