// Show one part of the page at a time, and answer keys.

const PARTS = ['news', 'stories', 'drops', 'review', 'numbers'];
let isLoaded = false;
let current = '';

function route() {
  const [name, argument] = location.hash.slice(1).split('/');
  const part = name === 'story' ? 'stories' : PARTS.includes(name) ? name : 'news';
  const story = name === 'story' && /^\d+$/.test(argument ?? '') ? Number(argument) : -1;
  const isTurned = part !== current || name === 'story';
  current = part;
  for (const id of PARTS) byId(id).hidden = id !== part;
  for (const link of document.querySelectorAll('nav a')) {
    if (link.hash === `#${part}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  if (!isLoaded) return;
  const isOpen = story >= 0 && story < data.title.length;
  for (const id of ['stories-about', 'filters', 'stories-legend', 'stories-status', 'story-list', 'story-pages']) byId(id).hidden = isOpen;
  byId('story').hidden = !isOpen;
  if (isOpen) showStory(story);
  else {
    openStory = null;
    if (isTurned && location.hash) window.scrollTo({ top: 0, behavior: 'instant' });
  }
}

const PART_KEYS = { stories: (name) => openStory !== null && storyKey(name), review: reviewKey, drops: dropKey };

document.addEventListener('keydown', (event) => {
  if (!isLoaded || isTyping(event)) return;
  if (PART_KEYS[current]?.(event.key)) event.preventDefault();
  else if (event.key === '/' && current === 'stories' && !openStory) {
    event.preventDefault();
    byId('f-text').focus();
  }
});

// The chosen day. Its news are in the page; stories and drops of other days are left out.
let dayStart = null;
const DAY = 86400;

const isOfDay = (first, last) => dayStart === null || (last >= dayStart && first >= 0 && first < dayStart + DAY);

function startDays() {
  const news = [...document.querySelectorAll('.news')];
  if (news.length < 2) return;
  const choice = byId('day');
  choice.append(...news.map((each) => element('option', { value: each.dataset.start }, each.dataset.name)));
  choice.addEventListener('input', () => {
    dayStart = choice.value === '' ? null : Number(choice.value);
    for (const each of news) each.hidden = each.dataset.start !== choice.value;
    filterStories();
    showDrops();
  });
  byId('days').hidden = false;
}

async function start() {
  document.querySelectorAll('.scroll').forEach(watchOverflow);
  route();
  window.addEventListener('hashchange', route);
  byId('stories-status').textContent = 'Unpacking the list…';
  // Let the browser draw the news before the list of items is unpacked.
  await new Promise((resolve) => { requestAnimationFrame(() => setTimeout(resolve)); });
  try {
    await loadData();
  } catch (error) {
    byId('failure').textContent = `The list of items cannot be unpacked (${error.message}). Use a browser of 2024 or later.`;
    byId('failure').hidden = false;
    return;
  }
  isLoaded = true;
  drawTimelines();
  fillFilters();
  filterStories();
  startDays();
  showDrops();
  startReview();
  route();
  document.documentElement.dataset.ready = 'true';
}

start();
