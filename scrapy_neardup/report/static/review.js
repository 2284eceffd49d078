// One pair after the other: right, wrong or unsure.

let reviewed = []; // places of the pairs that are shown
let reviewPlace = 0; // in `reviewed`
let openPair = null; // the comparison

function startReview() {
  if (!pairs.length) return;
  loadMarks();
  const groups = [...new Set(pairs.map((pair) => pair.group))];
  byId('review-group').append(...groups.map((group) => element('option', { value: group }, group)));
  byId('review-group').addEventListener('input', () => chooseGroup(byId('review-group').value));
  byId('export').addEventListener('click', exportLabels);
  byId('review-tools').hidden = false;
  chooseGroup('');
}

function chooseGroup(group) {
  reviewed = pairs.map((_, place) => place).filter((place) => !group || pairs[place].group === group);
  const open = reviewed.findIndex((place) => !marks.has(keyOf(pairs[place])));
  reviewPlace = Math.max(0, open);
  drawPair();
  drawPrecision();
}

const QUESTIONS = {
  duplicate: 'Is this item a copy of its match, with nothing important changed?',
  update: 'Is this item a newer version of its match, with changed figures or text?',
  related: 'Do this item and its match report the same event?',
};

function drawPair() {
  const pair = pairs[reviewed[reviewPlace]];
  const mark = marks.get(keyOf(pair));
  const answers = [['right', '1'], ['wrong', '2'], ['unsure', '3']].map(([name, key]) =>
    button(name[0].toUpperCase() + name.slice(1), () => setMark(name), { 'aria-pressed': String(mark === name), 'data-mark': name }, key));
  const score = textScore(pair.item) === null ? '' : ` score ${textScore(pair.item).toFixed(3)}`;
  openPair = new Comparison(pair.item, `Pair ${reviewPlace + 1} of ${reviewed.length}`, [
    button('Back', () => turnPair(-1), { disabled: reviewPlace === 0 }, '←'),
    button('Forward', () => turnPair(1), { disabled: reviewPlace === reviewed.length - 1 }, '→'),
  ]);
  byId('pair').replaceChildren(
    element('p', {}, element('span', { class: 'chip' }, pair.group), score),
    element('p', {}, element('strong', {}, QUESTIONS[verdictOf(pair.item)] ?? 'Is the verdict right?')),
    element('div', { class: 'answers', role: 'group', 'aria-label': 'Your answer' }, ...answers),
    openPair.node,
    element('p', { class: 'keys' }, 'Keys: ', element('kbd', {}, '1'), ' right, ', element('kbd', {}, '2'), ' wrong, ', element('kbd', {}, '3'), ' unsure, ', element('kbd', {}, '←'), ' and ',
      element('kbd', {}, '→'), ' turn, ', element('kbd', {}, 'n'), ' and ', element('kbd', {}, 'p'), ' go to the next or previous change.'),
  );
}

function turnPair(direction) {
  const next = reviewPlace + direction;
  if (next < 0 || next >= reviewed.length) return;
  reviewPlace = next;
  drawPair();
}

function setMark(name) {
  const key = keyOf(pairs[reviewed[reviewPlace]]);
  if (marks.get(key) === name) marks.delete(key);
  else marks.set(key, name);
  const isKept = keepMarks();
  const isLast = reviewPlace === reviewed.length - 1;
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
    element('p', { class: 'about' }, 'The share of right verdicts among those marked right or wrong. Pairs near the threshold are the hardest ones, so only the random samples tell about the whole crawl.'),
    scroller('Precision', element('table', { class: 'wide' },
      element('thead', {}, element('tr', {}, ...head.map((name, place) => element('th', { scope: 'col', class: place ? 'n' : '' }, name)))), element('tbody', {}, ...rows))));
}

function precisionRow(name, group, judged) {
  const cells = [group.right, group.wrong, group.unsure].map((count) => element('td', { class: 'n' }, String(count)));
  const head = element('th', { scope: 'row' }, `${name} `, element('span', { class: 'why' }, `(${group.pairs})`));
  if (!judged) return element('tr', {}, head, ...cells, element('td', { class: 'n' }, '–'), element('td', { class: 'n' }, '–'));
  const share = group.right / judged;
  return element('tr', {}, head, ...cells, element('td', { class: 'n' }, percent(share)), intervalCell(share, judged));
}

function intervalCell(share, size) {
  const [low, high] = wilson(share, size);
  return element('td', { class: 'n' }, `${percent(low)} to ${percent(high)}`);
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
  say(`Exported ${counted(lines.length, 'document')} to labels.jsonl.${aside} Next: scrapy neardup tune labels.jsonl`);
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
