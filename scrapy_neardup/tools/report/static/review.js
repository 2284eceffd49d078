// One pair after the other: right, wrong or unsure.

let reviewPlace = 0; // of the pair that is shown
let openPair = null; // the comparison

function startReview() {
  if (!pairs.length) return;
  loadMarks();
  byId('export').addEventListener('click', exportLabels);
  byId('review-tools').hidden = false;
  reviewPlace = Math.max(0, pairs.findIndex((pair) => !marks.has(keyOf(pair))));
  drawPair();
  drawPrecision();
}

const QUESTIONS = {
  duplicate: 'Is this item a copy of its match, with nothing important changed?',
  update: 'Is this item a newer version of its match, with changed figures or text?',
  related: 'Do this item and its match report the same event?',
};

function drawPair() {
  const pair = pairs[reviewPlace];
  const mark = marks.get(keyOf(pair));
  const answers = [['right', '1'], ['wrong', '2'], ['unsure', '3']].map(([name, key]) =>
    button(name[0].toUpperCase() + name.slice(1), () => setMark(name), { 'aria-pressed': String(mark === name), 'data-mark': name }, key));
  openPair = new Comparison(pair.item, `Pair ${reviewPlace + 1} of ${pairs.length}`, [
    button('Back', () => turnPair(-1), { disabled: reviewPlace === 0 }, '←'),
    button('Forward', () => turnPair(1), { disabled: reviewPlace === pairs.length - 1 }, '→'),
  ]);
  byId('pair').replaceChildren(
    element('p', {}, element('span', { class: 'chip' }, pair.group)),
    element('p', {}, element('strong', {}, QUESTIONS[verdictOf(pair.item)] ?? 'Is the verdict right?')),
    element('div', { class: 'answers', role: 'group', 'aria-label': 'Your answer' }, ...answers),
    openPair.node,
    element('p', { class: 'keys' }, 'Keys: ', element('kbd', {}, '1'), ' right, ', element('kbd', {}, '2'), ' wrong, ', element('kbd', {}, '3'), ' unsure, ', element('kbd', {}, '←'), ' and ',
      element('kbd', {}, '→'), ' turn, ', element('kbd', {}, 'n'), ' and ', element('kbd', {}, 'p'), ' go to the next or previous change.'),
  );
}

function turnPair(direction) {
  const next = reviewPlace + direction;
  if (next < 0 || next >= pairs.length) return;
  reviewPlace = next;
  drawPair();
}

function setMark(name) {
  const key = keyOf(pairs[reviewPlace]);
  if (marks.get(key) === name) marks.delete(key);
  else marks.set(key, name);
  const isKept = keepMarks();
  const isLast = reviewPlace === pairs.length - 1;
  if (marks.has(key) && !isLast) reviewPlace += 1;
  drawPair();
  drawPrecision();
  say(`${marks.has(key) ? `Marked ${name}` : 'Mark removed'}: ${counted(marks.size, 'mark')} of ${counted(pairs.length, 'pair')}.${isKept ? '' : ' This browser does not keep them: export them before you close the page.'}`);
}

const say = (text) => { byId('review-status').textContent = text; };

// Precision as the marks come in

function drawPrecision() {
  const groups = tally();
  const rows = [...groups].map(([name, group]) => precisionRow(name, group, group.right + group.wrong));
  const head = ['pairs', 'right', 'wrong', 'unsure', 'precision', '95% interval'];
  byId('precision').replaceChildren(
    element('h3', {}, 'Precision'),
    element('p', { class: 'about' }, 'The share of right verdicts among those that you marked right or wrong.'),
    scroller('Precision', element('table', { class: 'wide' },
      element('thead', {}, element('tr', {}, ...head.map((name, place) => element('th', { scope: 'col', class: place ? 'n' : '' }, name)))), element('tbody', {}, ...rows))));
}

function precisionRow(name, group, judged) {
  const share = group.right / judged;
  const figures = judged ? [percent(share), wilson(share, judged).map(percent).join(' to ')] : ['–', '–'];
  return element('tr', {}, element('th', { scope: 'row' }, `${name} `, element('span', { class: 'why' }, `(${group.pairs})`)),
    ...[group.right, group.wrong, group.unsure, ...figures].map((cell) => element('td', { class: 'n' }, String(cell))));
}

// Export

function exportLabels() {
  const { lines, withoutText } = labelsOf();
  const aside = withoutText ? ` ${counted(withoutText, 'pair')} left out, because a text is not in this page.` : '';
  if (!lines.length) {
    say(`There is nothing to export: mark a pair right or wrong first.${aside}`);
    return;
  }
  const blob = new Blob([lines.map((line) => `${JSON.stringify(line)}\n`).join('')], { type: 'application/x-ndjson' });
  const url = URL.createObjectURL(blob);
  element('a', { href: url, download: 'labels.jsonl' }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
  say(`Exported ${counted(lines.length, 'document')} to labels.jsonl.${aside} Next: scrapy neardup eval labels.jsonl`);
}

function reviewKey(name) {
  if (!openPair) return false;
  if (openPair.key(name)) return true;
  const mark = { 1: 'right', 2: 'wrong', 3: 'unsure' }[name];
  if (mark) setMark(mark);
  else if (name === 'ArrowLeft') turnPair(-1);
  else if (name === 'ArrowRight') turnPair(1);
  else return false;
  return true;
}
