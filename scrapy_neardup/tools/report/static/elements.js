// Elements are made one by one. Titles and texts are only ever set as text, so nothing in them can become markup.

const SVG = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ''));
  return node;
}

const element = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
const drawing = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children);
const byId = (id) => document.getElementById(id);
const button = (label, onclick, attributes = {}, key = '') =>
  element('button', { type: 'button', onclick, ...attributes }, label, key ? element('kbd', { 'aria-hidden': 'true' }, key) : null);

const counted = (number, noun, nouns = `${noun}s`) => `${number.toLocaleString('en')} ${number === 1 ? noun : nouns}`;
const percent = (share) => `${Math.round(share * 100)}%`;
const isoOf = (seconds) => new Date(seconds * 1000).toISOString();
const clockOf = (timeZone) => new Intl.DateTimeFormat('sv', { dateStyle: 'short', timeStyle: 'short', timeZone }); // 2023-11-14 22:13
let clock = clockOf('UTC');
try {
  clock = clockOf(meta.zone);
} catch {
  // A browser may not know the zone.
}
const momentText = (seconds) => (seconds === null ? 'no time' : clock.format(seconds * 1000));
const moment = (seconds) =>
  seconds === null ? element('span', {}, 'no time') : element('time', { datetime: isoOf(seconds) }, momentText(seconds));

// Leave the date out of each time whose date the time before it has told.
function tellDatesOnce(node) {
  let day = '';
  for (const each of node.querySelectorAll('time')) {
    each.title ||= each.textContent;
    each.textContent = each.title.startsWith(day || ' ') ? each.title.slice(11) : each.title;
    day = each.title.slice(0, 11);
  }
}

// Let a click on the head of a column sort the table; numbers begin with the largest.
function makeSortable(table, sorted = () => {}) {
  for (const head of table.tHead.rows[0].cells) {
    const isNumber = head.classList.contains('n');
    const valueOf = (row) => row.cells[head.cellIndex].querySelector('time')?.dateTime ?? row.cells[head.cellIndex].textContent;
    const sort = () => {
      const order = (head.ariaSort ?? (isNumber ? 'ascending' : 'descending')) === 'ascending' ? -1 : 1;
      const compare = (one, other) => (isNumber ? valueOf(one).replace(/\D/g, '') - valueOf(other).replace(/\D/g, '') : valueOf(one).localeCompare(valueOf(other)));
      const rows = [...table.tBodies[0].rows].sort((one, other) => order * compare(one, other));
      for (const each of table.tHead.rows[0].cells) each.removeAttribute('aria-sort');
      head.ariaSort = order > 0 ? 'ascending' : 'descending';
      table.tBodies[0].append(...rows);
      sorted();
    };
    if (!head.querySelector('.hidden')) head.replaceChildren(button(head.textContent, sort, { class: 'plain sort' }));
  }
}

// A link that a browser may follow, or the text alone: never javascript: or the like.
function linkTo(url, text) {
  const label = element('bdi', {}, text || url || 'no title');
  if (!URL.canParse(url) || !['http:', 'https:'].includes(new URL(url).protocol)) return label;
  return element('a', { href: url, rel: 'noopener noreferrer nofollow', target: '_blank' }, label);
}

// The host and path of a url: variants of one article (AMP, print) differ only there.
function pathOf(url) {
  try {
    const { host, pathname, search } = new URL(url);
    return `${host}${decodeURI(pathname)}${search}`;
  } catch {
    return url;
  }
}

const badge = (verdict, kind = '') => element('span', { class: `badge v-${verdict}` }, kind ? `${verdict}, ${kind}` : verdict);

// Items by verdict as one bar.
function stackOf(counts, label) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const spoken = counts.map((count, place) => (count ? `${count} ${meta.verdicts[place]}` : '')).filter(Boolean).join(', ');
  const svg = drawing('svg', { class: 'stack', viewBox: '0 0 100 12', preserveAspectRatio: 'none', role: 'img', 'aria-label': `${label}${spoken}` });
  let x = 0;
  counts.forEach((count, place) => {
    const width = (count / total) * 100;
    if (count) svg.append(drawing('rect', { class: `v-${meta.verdicts[place]}`, x, y: 0, width, height: 12 }));
    x += width;
  });
  return svg;
}

// What is too wide for the screen scrolls sideways, and says so.
const overflows = new ResizeObserver((entries) => {
  for (const node of new Set(entries.map((entry) => entry.target.closest('.scroll')))) {
    node.toggleAttribute('data-more', node.scrollWidth > node.clientWidth + 1);
  }
});

function watchOverflow(node) {
  for (const each of [node, ...node.children]) overflows.observe(each);
  return node;
}

// A list that shows its first entries, and more if the reader asks. `draw` makes the element of one entry.
class Growing {
  constructor(list, controls, draw, size = 100) {
    Object.assign(this, { list, controls, draw, size, entries: [] });
  }

  show(entries) {
    this.entries = entries;
    this.list.replaceChildren();
    this.more();
  }

  more() {
    const shown = this.list.childElementCount;
    this.list.append(...this.entries.slice(shown, shown + this.size).map((entry) => this.draw(entry)));
    const left = this.entries.length - this.list.childElementCount;
    this.controls.replaceChildren(left ? button(`Show more of ${left.toLocaleString('en')}`, () => this.more()) : '');
  }
}

// Whether keys belong to a field that the reader types into.
const isTyping = (event) => event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, select, textarea') !== null;
