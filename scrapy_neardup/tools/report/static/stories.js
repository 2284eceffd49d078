// The list of stories with its filters, and one story opened.

const storyPages = new Growing(byId('story-list'), byId('story-pages'), (story) => storyCard(story));
const MOST_DOTS = 150;
const MOST_STEPS = 6; // that are not folded
const LISTS = ['events', 'figures']; // of the news: each story has the periods whose news list it

const KEYS = {
  size: (story) => -toldOf(story).size,
  new: (story) => -(spanOf(story)[1] ?? 0),
  old: (story) => spanOf(story)[0] ?? Infinity,
  sources: (story) => -toldOf(story).sources,
  updates: (story) => -countedItems(story).filter((item) => verdictOf(item) === 'update').length,
};

function chosenFilters() {
  return {
    words: byId('f-text').value.toLowerCase().split(/\s+/).filter(Boolean),
    verdict: byId('f-verdict').value,
    source: byId('f-source').value,
    language: byId('f-language').value,
    size: Number(byId('f-size').value),
    show: byId('f-show').value,
  };
}

function isChosen(story, filters) {
  const told = countedItems(story);
  if (!told.length || toldOf(story).size < filters.size) return false;
  if (!filters.words.every((word) => story.searched.includes(word))) return false;
  if (LISTS.includes(filters.show) && !story[filters.show]?.includes(chosen.place)) return false;
  const names = ['verdict', 'source', 'language'].filter((name) => filters[name]);
  const fits = (item) => names.every((name) => items[item][name] === filters[name]) && (filters.show !== 'one-site' || isOnOneSite(item));
  return told.some(fits);
}

// Show the stories that a link of the news names: "events", "figures", "one-site", or "all".
function chooseList(name) {
  byId('filters').reset();
  byId('f-show').value = name === 'all' ? '' : name;
  showSingleItems();
  filterStories();
}

// Most articles on one site only are single items.
function showSingleItems() {
  if (byId('f-show').value) byId('f-size').value = '1';
}

function filterStories() {
  const filters = chosenFilters();
  const key = KEYS[byId('f-sort').value];
  const found = stories.filter((story) => isChosen(story, filters)).map((story) => ({ story, at: key(story) }));
  storyPages.show(found.sort((one, other) => one.at - other.at).map(({ story }) => story));
  byId('stories-status').textContent = found.length ? `${counted(found.length, 'story', 'stories')} found.` : 'No story fits. Clear a filter, or choose "any, single items too".';
}

function verdictCounts(story) {
  const verdicts = countedItems(story).map(verdictOf);
  return meta.verdicts.map((verdict) => verdicts.filter((each) => each === verdict).length);
}

const headlineOf = (story) => toldOf(story).headline || nameOf(story.start);

function storyCard(story) {
  const { size, words } = toldOf(story);
  const [first, last] = spanOf(story);
  const [item] = countedItems(story);
  const span = last > first ? [moment(first), ' to ', moment(last)] : [moment(first)];
  const card = element('li', {},
    button(element('bdi', {}, headlineOf(story)), () => { location.hash = `#story/${story.start}`; }, { class: 'plain' }),
    element('p', { class: 'meta' }, words, ' · ', ...span),
    element('div', { class: 'side' }, size === 1 ? badge(verdictOf(item), kindOf(item)) : stackOf(verdictCounts(story), 'By verdict: ')));
  tellDatesOnce(card);
  return card;
}

function fillFilters() {
  const options = (id, names) => byId(id).append(...names.map((name) => element('option', { value: name }, name)));
  const valuesOf = (name) => [...new Set(items.map((each) => each[name]))].filter(Boolean).sort();
  const present = new Set(items.map((each) => each.verdict));
  options('f-verdict', meta.verdicts.filter((name) => present.has(name)));
  options('f-source', valuesOf('source'));
  options('f-language', valuesOf('language'));
  byId('f-language').parentElement.hidden = !valuesOf('language').length;
  if (!stories.some((story) => story.size > 1)) byId('f-size').value = '1';
  const filters = byId('filters');
  filters.hidden = false;
  byId('f-show').addEventListener('input', showSingleItems);
  filters.addEventListener('input', filterStories);
  filters.addEventListener('submit', (event) => event.preventDefault());
  filters.addEventListener('reset', () => setTimeout(filterStories));
  const more = byId('more-filters'); // on a phone
  more.addEventListener('click', () => more.setAttribute('aria-expanded', String(more.getAttribute('aria-expanded') !== 'true')));
}

// One story

let openStory = null; // {story, comparison, row}

function showStory(start) {
  const story = storyOf(start);
  const article = byId('story');
  const heading = element('h3', { id: 'story-title', tabindex: '-1' }, element('bdi', {}, headlineOf(story)));
  const rest = element('div', { class: 'tools' });
  openStory = { story, comparison: null, item: -1, rows: new Map(), panel: element('tr', { class: 'panel' }) };
  article.replaceChildren(
    element('p', {}, element('a', { href: '#stories' }, '← All stories')),
    heading,
    element('p', { class: 'meta' }, toldOf(story).words),
    ...timelineOf(story),
    ...stepsOf(story),
    element('p', { class: 'keys' }, 'Keys: ', element('kbd', {}, 'j'), ' and ', element('kbd', {}, 'k'), ' compare the next or previous item, ', element('kbd', {}, 'n'), ' and ',
      element('kbd', {}, 'p'), ' go to the next or previous change, ', element('kbd', {}, 'Esc'), ' closes.'),
    membersOf(story, rest),
    rest,
  );
  heading.focus({ preventScroll: true });
  window.scrollTo({ top: 0, behavior: 'instant' });
}

// What the items told that the story had not, each on its page. Old steps are folded.
function stepsOf(story) {
  const steps = itemsOf(story).filter((item) => !isAgain(item) && isTold(item) && (items[item].news || items[item].changes)).map((item) => element('li', {},
    moment(timeOf(item)), ' ', element('span', { class: 'host' }, sourceOf(item)), ' ', items[item].changes ? element('strong', {}, items[item].changes) : null,
    ...(items[item].news ?? []).flatMap((sentence) => [' ', element('q', { lang: items[item].language }, element('bdi', {}, sentence))])));
  const [old, newest] = [steps.slice(0, -MOST_STEPS), steps.slice(-MOST_STEPS)];
  const folded = old.length ? [element('details', {}, element('summary', {}, counted(old.length, 'earlier step')), element('ol', { class: 'steps' }, ...old))] : [];
  return steps.length ? [element('h4', {}, 'What is new'), ...folded, element('ol', { class: 'steps' }, ...newest)] : [];
}

// Items of other periods and visits of pages that had not changed are folded.
function membersOf(story, rest) {
  const head = [`time (${meta.zone})`, 'source', 'title', 'verdict and why it joined', ''].map((name) => element('th', { scope: 'col' }, name || element('span', { class: 'hidden' }, 'compare')));
  const body = element('tbody');
  const table = element('table', { class: 'wide members' }, element('thead', {}, element('tr', {}, ...head)), body);
  const fill = (shown) => {
    openStory.rows.clear();
    body.replaceChildren(...shown.map(memberRow));
    tellDatesOnce(body);
  };
  const counts = new Set(countedItems(story));
  const shown = itemsOf(story).filter((item) => counts.has(item) || (isVariant(item) && isTold(item)));
  const left = itemsOf(story).filter((item) => !shown.includes(item));
  const label = counted(left.length, left.every(isAgain) ? 'repeated visit' : 'other item');
  const unfold = button(`Show ${label}`, () => { fill(itemsOf(story)); unfold.remove(); });
  if (left.length) rest.append(unfold);
  fill(shown);
  makeSortable(table, () => {
    openStory.panel.remove();
    const rows = [...openStory.rows].sort(([, one], [, other]) => one.rowIndex - other.rowIndex);
    openStory.rows = new Map(rows);
    tellDatesOnce(body);
  });
  return table;
}

function memberRow(item) {
  const { event, url, title, match, elsewhere } = items[item];
  const isLinked = match !== undefined || elsewhere !== undefined;
  const label = isLinked ? 'Compare' : 'Read';
  const open = button(label, () => compareMember(item), { 'aria-label': `${label}: ${nameOf(item)}, ${sourceOf(item)}` });
  const row = element('tr', {},
    element('td', {}, moment(timeOf(item))),
    element('td', {}, sourceOf(item)),
    element('td', {}, linkTo(url, title), element('div', { class: 'path' }, pathOf(url))),
    element('td', {}, badge(verdictOf(item), kindOf(item)), event ? [' ', element('span', { class: `badge level-${event}` }, event)] : null,
      dropChip(item), element('div', { class: 'why' }, whyOf(item), scoreText(item))),
    element('td', {}, isLinked || textOf(item) ? open : ''));
  openStory.rows.set(item, row);
  return row;
}

function dropChip(item) {
  if (isAgain(item) || !isDrop(item)) return null;
  const words = items[item].dropped ? 'dropped' : 'would be dropped';
  const lost = lostPercent(item);
  return [' ', element('span', { class: `chip${lost ? ' lost' : ''}` }, lost ? `${words}, ${lost}% lost` : words)];
}

function compareMember(item) {
  openStory.rows.get(openStory.item)?.classList.remove('current');
  openStory.rows.get(item)?.classList.add('current');
  openStory.item = item;
  const tools = [button('‹ Item', () => stepMember(-1), { 'aria-label': 'Previous item' }, 'k'), button('Item ›', () => stepMember(1), { 'aria-label': 'Next item' }, 'j'),
    button('×', closeComparison, { class: 'close', 'aria-label': 'Close' }, 'Esc')];
  const shown = [...openStory.rows.keys()];
  openStory.comparison = new Comparison(item, `Item ${shown.indexOf(item) + 1} of ${shown.length}`, tools);
  openStory.panel.replaceChildren(element('td', { colspan: 5 }, openStory.comparison.node));
  openStory.rows.get(item).after(openStory.panel);
  openStory.comparison.heading.focus({ preventScroll: true });
  openStory.rows.get(item).scrollIntoView({ block: 'start' });
}

function closeComparison() {
  openStory.comparison = null;
  openStory.panel.remove();
  const row = openStory.rows.get(openStory.item);
  row?.scrollIntoView({ block: 'center' });
  row?.querySelector('button')?.focus({ preventScroll: true });
}

function stepMember(direction) {
  const shown = [...openStory.rows.keys()];
  const at = openStory.item < 0 ? (direction > 0 && shown.length > 1 ? 0 : -direction) : shown.indexOf(openStory.item);
  if (shown[at + direction] !== undefined) compareMember(shown[at + direction]);
}

function storyKey(name) {
  if (openStory.comparison?.key(name)) return true;
  if (name === 'j') stepMember(1);
  else if (name === 'k') stepMember(-1);
  else if (name === 'Escape' && openStory.comparison) closeComparison();
  else if (name === 'Escape') location.hash = '#stories';
  else return false;
  return true;
}

// A dot for each item on one line, and a line for each level of an event. Of very many items some are drawn.
function timelineOf(story) {
  const { words } = toldOf(story);
  const [first, latest] = spanOf(story);
  const levels = story.levels.filter(([, time]) => isWithin(time));
  const last = Math.max(latest, ...levels.map(([, time]) => time));
  if (first === null || last <= first) return [];
  const x = (time) => `${Math.max(0, ((time - first) / (last - first)) * 100).toFixed(2)}%`;
  const named = levels.flatMap(([level, time], place) => [place ? `, ${level} ` : `${level} `, moment(time)]);
  const svg = drawing('svg', { class: 'timeline', height: 22, role: 'img', 'aria-label': `${words}, from ${momentText(first)} to ${momentText(last)}${levels.map(([level, time]) => `, ${level} ${momentText(time)}`).join('')}` },
    drawing('line', { class: 'grid', x1: 0, x2: '100%', y1: 11, y2: 11 }),
    ...levels.map(([, time]) => drawing('line', { class: 'level-line', x1: x(time), x2: x(time), y1: 0, y2: 22 })));
  const dated = countedItems(story).filter((item) => timeOf(item) !== null);
  const step = Math.ceil(dated.length / MOST_DOTS);
  for (const item of dated.filter((_, place) => place % step === 0)) {
    svg.append(drawing('circle', { class: `v-${verdictOf(item)}`, cx: x(timeOf(item)), cy: 11, r: 5 },
      drawing('title', {}, `${momentText(timeOf(item))} ${sourceOf(item)}: ${verdictOf(item)}`)));
  }
  const ends = element('p', { class: 'ends' }, moment(first), moment(last), element('span', {}, ...named));
  tellDatesOnce(ends);
  return [svg, ends];
}

function drawTimelines() {
  for (const node of document.querySelectorAll('.period:not([hidden]) [data-story]')) {
    const drawn = timelineOf(storyOf(Number(node.dataset.story)));
    if (drawn.length) node.replaceChildren(...drawn);
  }
}
