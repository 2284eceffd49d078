// The differences of two texts, as passages that a reader takes for one change.

const PATIENCE = 400; // milliseconds for the words of one place; then the whole place is a change
const MOST_EDITS = 4000;
// A number, a character of a script written without spaces, a word or a single mark, each with the spaces behind it; or a line end.
const TOKEN =
  /(?:\p{N}+(?:[.,:]\p{N}+)*|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|[\p{L}\p{M}\p{N}_]+(?:['’-][\p{L}\p{M}\p{N}_]+)*|\S)[^\S\n]*|\n|[^\S\n]+/gu;
const isWord = /[\p{L}\p{N}]/u;

const isSame = ({ text: one }, { text: other }) => one === other || (one.trimEnd() !== '' && one.trimEnd() === other.trimEnd());
const joined = (tokens) => tokens.map((token) => token.text).join('');

function tokensOf(whole) {
  const tokens = (whole.match(TOKEN) ?? []).map((text) => ({ text }));
  if (tokens.at(-1)?.text !== '\n') tokens.push({ text: '\n' }); // so that the last line can be compared with a line in the middle
  return tokens;
}

const endsLine = (tokens) => !tokens.length || tokens.at(-1).text.endsWith('\n');

// Return the tokens of each line.
function splitLines(tokens) {
  const lines = [[]];
  for (const token of tokens) {
    lines.at(-1).push(token);
    if (token.text.endsWith('\n')) lines.push([]);
  }
  return lines.at(-1).length ? lines : lines.slice(0, -1);
}

// Return runs {same, left, right} of tokens: what both texts have at this place (`same`), or what only one of them has.
// Whole lines are compared first, and then the words of those that differ.
function differencesOf(left, right) {
  const lines = [left, right].map((tokens) => splitLines(tokens).map((line) => ({ text: joined(line), line })));
  const runs = (runsOf(...lines) ?? [{ same: false, left: lines[0], right: lines[1] }]).flatMap((run) => {
    const [one, other] = [run.left, run.right].map((found) => found.flatMap(({ line }) => line));
    const whole = [{ same: run.same, left: one, right: other }];
    return run.same || !one.length || !other.length ? whole : runsOf(one, other) ?? whole;
  });
  return joinRuns(joinRuns(runs, isMark), isIsland);
}

function runsOf(left, right) {
  const found = Diff.diffArrays(left, right, { timeout: PATIENCE, maxEditLength: MOST_EDITS, comparator: isSame });
  if (!found) return null;
  const runs = [];
  const place = { left: 0, right: 0 };
  const take = (side, tokens, count) => {
    place[side] += count;
    return tokens.slice(place[side] - count, place[side]);
  };
  for (const part of found) {
    const same = !part.added && !part.removed;
    if (runs.at(-1)?.same !== same) runs.push({ same, left: [], right: [] });
    if (!part.added) runs.at(-1).left.push(...take('left', left, part.count));
    if (!part.removed) runs.at(-1).right.push(...take('right', right, part.count));
  }
  return runs;
}

const wordsOf = (run) => Math.max(...[run.left, run.right].map((tokens) => joined(tokens).split(/\s+/).filter((word) => isWord.test(word)).length));

// Whether two changes have nothing but a space or comma between them.
const isMark = (last, run) => wordsOf(run) === 0;
// Whether one or two words stand between two long passages.
const isIsland = (last, run, next) => wordsOf(run) <= 2 && wordsOf(last) >= 3 * wordsOf(run) && wordsOf(next) >= 3 * wordsOf(run);

// Join changes that a reader takes for one: a passage reads better than its words one by one.
function joinRuns(runs, isGap) {
  const kept = [];
  for (let place = 0; place < runs.length; place += 1) {
    const run = runs[place];
    const last = kept.at(-1);
    const next = runs[place + 1];
    if (last && !last.same && (!run.same || (next && !joined(run.left).includes('\n') && isGap(last, run, next)))) {
      last.left.push(...run.left);
      last.right.push(...run.right);
    } else {
      kept.push(run);
    }
  }
  return kept;
}
