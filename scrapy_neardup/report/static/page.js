// Show one part of the page at a time, and answer keys.

const PARTS = ['news', 'stories', 'drops', 'review', 'numbers'];
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
  const isOpen = story >= 0 && story < items.length;
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
  if (isTyping(event)) return;
  if (PART_KEYS[current]?.(event.key)) event.preventDefault();
  else if (event.key === '/' && current === 'stories' && !openStory) {
    event.preventDefault();
    byId('f-text').focus();
  }
});

// The chosen day. Its news are in the page; stories and drops of other days are left out.
let dayStart = null;
const DAY = 86400;

const isOfDay = (first, last) => dayStart === null || (first !== null && last >= dayStart && first < dayStart + DAY);

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

document.querySelectorAll('.scroll').forEach(watchOverflow);
window.addEventListener('hashchange', route);
drawTimelines();
fillFilters();
filterStories();
startDays();
showDrops();
startReview();
route();
document.documentElement.dataset.ready = 'true';
