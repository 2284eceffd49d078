// The items that were dropped or would be, those that lose most of their text first.

const dropPages = new Pager(byId('drop-list'), byId('drop-pages'), (item) => dropCard(item));
let openDrop = null; // the comparison

function showDrops() {
  const dropped = [];
  data.drop.forEach((flags, item) => { if (flags) dropped.push(item); });
  const held = (item) => (data.share[item] < 0 ? data.similarity[item] : data.share[item]);
  dropped.sort((one, other) => held(one) - held(other) || one - other);
  dropPages.show(dropped);
}

function dropCard(item) {
  const share = shareOf('share', item) ?? shareOf('similarity', item);
  const state = data.drop[item] & DROPPED ? 'dropped' : 'would be dropped';
  return element('li', {},
    button(element('bdi', {}, nameOf(item)), () => compareDrop(item), { class: 'plain', 'aria-label': `Compare: ${nameOf(item)}` }),
    element('p', { class: 'meta' }, sourceOf(item), ' · ', moment(data.time[item]), ` · ${state}`,
      share === null ? '' : `, ${percent(share)} of its text is in its match, ${percent(1 - share)} would be lost`),
    element('div', { class: 'side' }, badge(verdictOf(item), kindOf(item))));
}

async function compareDrop(item) {
  openDrop = new Comparison(item, nameOf(item), [button('Close', closeDrop, {}, 'Esc')]);
  byId('drop-compare').replaceChildren(openDrop.node);
  await openDrop.ready;
  openDrop.heading.focus({ preventScroll: true });
  byId('drop-compare').scrollIntoView({ block: 'start' });
}

function closeDrop() {
  openDrop = null;
  byId('drop-compare').replaceChildren();
  byId('drop-list').querySelector('button')?.focus();
}

function dropKey(name) {
  if (openDrop?.key(name)) return true;
  if (name !== 'Escape' || !openDrop) return false;
  closeDrop();
  return true;
}
