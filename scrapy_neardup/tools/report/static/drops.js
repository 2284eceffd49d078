// The items that were dropped or would be, those that lose most of their text first.

const dropPages = new Growing(byId('drop-list'), byId('drop-pages'), (item) => dropCard(item));
let openDrop = null; // the comparison

const heldShare = (item) => shareOf('share', item) ?? shareOf('similarity', item) ?? 1;
const lostPercent = (item) => 100 - Math.round(heldShare(item) * 100);

function showDrops() {
  const drops = [...items.keys()].filter((item) => isDrop(item) && !isAgain(item) && isTold(item));
  drops.sort((one, other) => heldShare(one) - heldShare(other) || one - other);
  dropPages.show(drops);
  const losing = drops.filter((item) => lostPercent(item) > 0).length;
  byId('drops-status').textContent = drops.length ? `${counted(losing, 'item')} with text of their own, ${(drops.length - losing).toLocaleString('en')} without.` : '';
}

function dropCard(item) {
  const isDropped = items[item].dropped;
  const lost = lostPercent(item);
  const words = `${lost}% ${isDropped ? 'was' : 'would be'} lost`;
  const card = element('li', {},
    button(element('bdi', {}, nameOf(item)), () => compareDrop(item, card), { class: 'plain', 'aria-label': `Compare: ${nameOf(item)}` }),
    element('p', { class: 'meta' }, sourceOf(item), ' · ', moment(timeOf(item)), ' · ', element('span', { class: lost ? 'lost' : '' }, words), `, ${percent(heldShare(item))} of its text is in its match`),
    element('div', { class: 'side' }, badge(verdictOf(item), kindOf(item))));
  return card;
}

function compareDrop(item, card) {
  openDrop?.node.remove();
  openDrop = new Comparison(item, 'Side by side', [button('×', closeDrop, { class: 'close', 'aria-label': 'Close' }, 'Esc')]);
  card.append(openDrop.node);
  openDrop.heading.focus({ preventScroll: true });
  card.scrollIntoView({ block: 'start' });
}

function closeDrop() {
  const opened = openDrop.node.parentElement;
  openDrop.node.remove();
  openDrop = null;
  opened?.querySelector('button').focus();
}

function dropKey(name) {
  if (openDrop?.key(name)) return true;
  if (name !== 'Escape' || !openDrop) return false;
  closeDrop();
  return true;
}
