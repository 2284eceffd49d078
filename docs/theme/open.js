// Open the folded part of a page that a link or the list of contents leads to.
const openTarget = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let node = target; node; node = node.parentElement) if (node.localName === 'details') node.open = true;
  target?.scrollIntoView();
};
addEventListener('hashchange', openTarget);
if (location.hash) openTarget();

// A table that scrolls sideways can be scrolled by keyboard too.
const reach = () => document.querySelectorAll('.md-typeset__scrollwrap, .md-typeset .picture').forEach((each) => {
  if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
});
addEventListener('load', reach);
addEventListener('toggle', reach, true);

document.querySelector('[data-md-component=search][role=dialog]')?.setAttribute('aria-label', 'Search');
