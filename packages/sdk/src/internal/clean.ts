// Cleans text that others wrote before a model or a terminal shows it: names, labels, summaries, bodies, results, errors. Programs (over the SDK, REST, or as
// the input of an action) get text as it was sent. The programs that CLIs run as hooks load this file at every start, so it has no imports at all.

/**
 * Characters that a reader cannot see, or that make others appear at another place: control and format characters (zero-width spaces, overrides of the writing
 * direction, invisible tag letters), fillers, variation selectors. Left out are line feed and tab, and the few signs of Arabic, Syriac and Kaithi that Unicode
 * counts as format characters although they are drawn.
 */
const unseenClass = String.raw`[\0-\x08\x0b-\x1f\x7f-\x9f\p{Cf}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}](?<![\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}])`

let unseenPatterns: { runs: RegExp; each: RegExp } | undefined
/**
 * Returns the patterns for invisible characters. They are compiled on first use, because that takes V8 more than a millisecond, and most texts are plain ASCII.
 */
function patternsOfUnseen() {
  unseenPatterns ??= {
    runs: new RegExp(`(?:${unseenClass})+`, 'gu'),
    each: new RegExp(`${unseenClass}|[\\u2028\\u2029]`, 'gu'),
  }
  return unseenPatterns
}

/**
 * Matches whole terminal escape sequences, so that removing `ESC[31m` leaves no `[31m` behind: strings with a terminator (OSC, DCS, …), CSI sequences, and
 * two-character sequences.
 */
const escapeSequences =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this pattern looks for.
  /(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\n\u0007\u001b\u0090\u0098\u009b-\u009f]*(?:\u0007|\u001b\\|\u009c)|(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|\u001b[ -/]*[0-~]?/g
/** Characters that any reader may take for the end of a line. A lone carriage return is among them, since it could overwrite the text before it. */
const lineEnds = /\r\n?|[\v\f\u0085\u2028\u2029]/g
const plainTextPattern = /^[\t\n -~]*$/

/** Cleans a text for a terminal: removes escape sequences and invisible characters. Line feeds and tabs stay; every other line end becomes a line feed. */
export function clean(text: string): string {
  if (plainTextPattern.test(text)) return text
  return text
    .replace(escapeSequences, '')
    .replace(lineEnds, '\n')
    .replace(/\p{Cs}/gu, '\ufffd')
    .replace(patternsOfUnseen().runs, keptOf)
}

/** Replaces invisible characters one by one, and line ends other than line feeds, for callers that escape such characters instead of removing them. */
export function replaceInvisible(text: string, by: (character: string) => string): string {
  return plainTextPattern.test(text) ? text : text.replace(patternsOfUnseen().each, by)
}

/**
 * Whether the text begins with a letter or sign of a script whose letters join (Arabic, Devanagari, Sinhala and their like): only in these scripts are
 * zero-width joiners part of the spelling.
 */
function isOfJoiningScript(text: string): boolean {
  // Stands inside the function so that V8 compiles it on first use: that takes a millisecond, and most texts are plain ASCII.
  return /^(?![\p{Default_Ignorable_Code_Point}\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Hebrew}\p{sc=Armenian}\p{sc=Georgian}\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Bopomofo}\p{sc=Hangul}\p{sc=Common}\p{sc=Inherited}])[\p{L}\p{M}]/u.test(
    text,
  )
}
/**
 * Viramas, signs that join letters of Indic scripts: a zero-width joiner after a virama belongs to the letter before it (a half form, an old Malayalam chillu).
 */
const virama = /^[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca]/
const mongolian = /^[\u1820-\u1878\u1880-\u18aa]/
const picture = /^\p{Extended_Pictographic}/u
const pictureOrTone = /^[\p{Extended_Pictographic}\p{Emoji_Modifier}]/u
/** The flag emojis of England, Scotland and Wales, the only emojis that are spelled with invisible tag letters. */
const spelledFlag =
  /^\u{e0067}\u{e0062}(?:\u{e0065}\u{e006e}\u{e0067}|\u{e0073}\u{e0063}\u{e0074}|\u{e0077}\u{e006c}\u{e0073})\u{e007f}/u

/**
 * Returns the part of a run of invisible characters that belongs to the spelling (such as a joiner) and therefore stays. Only the characters before and after
 * the run decide; they are never removed themselves, so cleaning a text twice gives the same result as once.
 */
function keptOf(run: string, at: number, text: string): string {
  const before = characterBefore(text, at)
  const after = text.slice(at + run.length, at + run.length + 2)
  const first = run.charAt(0)
  const isAlone = run.length === 1
  if (first === '\u200c' || first === '\u200d') {
    const joinsLetters = isAlone && isOfJoiningScript(before) && isOfJoiningScript(after)
    const joinsPictures = run === '\u200d' && pictureOrTone.test(before) && picture.test(after)
    return joinsLetters || joinsPictures || virama.test(before) ? first : ''
  }
  if (first === '\ufe0e' || first === '\ufe0f') {
    const isKeycap = run === '\ufe0f' && after.startsWith('\u20e3') && /[0-9#*]/.test(before)
    if (!isKeycap && !picture.test(before)) return ''
    return run === '\ufe0f\u200d' && picture.test(after) ? run : first
  }
  if (first >= '\u180b' && first <= '\u180f' && first !== '\u180e') return mongolian.test(before) ? first : ''
  return before === '\u{1f3f4}' ? (spelledFlag.exec(run)?.[0] ?? '') : ''
}

function characterBefore(text: string, at: number): string {
  const last = text.charCodeAt(at - 1)
  const isSecondHalf = last >= 0xdc00 && last <= 0xdfff
  return text.slice(Math.max(0, at - (isSecondHalf ? 2 : 1)), at)
}

/** Joins a text into one line. U+0085 (next line) is listed because `\s` does not match it, and `clean` would turn it into a line feed. */
export function oneLine(text: string): string {
  return text.replace(/[\s\u0085]+/g, ' ').trim()
}

export function cleanLine(text: string): string {
  return oneLine(clean(text))
}

/** Cleans a text for a model, and escapes the tags with which a CLI marks its own text for its model. `tags` names further tags to escape. */
export function cleanForModel(text: string, tags: readonly string[] = []): string {
  return withoutHostTags(clean(text), tags)
}

export function cleanLineForModel(text: string): string {
  return withoutHostTags(cleanLine(text), [])
}

/** Applies `change` to every text in a JSON value, including the names of fields. */
export function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((each) => mapTexts(each, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [change(name), mapTexts(each, change)]))
}

/** Tags with which Claude Code, Codex and Gemini CLI mark their own text in what a model reads. None of these names occurs in ordinary code or help texts. */
const hostTags = [
  'system-reminder',
  'task-notification',
  'user-prompt-submit-hook',
  'local-command-stdout',
  'local-command-stderr',
  'bash-stdout',
  'bash-stderr',
  'environment-context',
  'turn-aborted',
  'hook-context',
  'untrusted-context',
  'function-calls',
  'function-results',
  'antml',
]

/**
 * Tags of coding CLIs whose names also occur in code, such as `tool_use`. They match only with punctuation or blanks between their words, and with no letter or
 * digit after them.
 */
const exactTags = [
  'command-name',
  'command-message',
  'command-args',
  'local-command-caveat',
  'bash-input',
  'tool-use',
  'tool-use-error',
  'tool-call',
  'tool-result',
  'tool-response',
  'teammate-message',
  'subagent-notification',
  'user-instructions',
  'user-memory-input',
  'session-context',
  'ide-opened-file',
  'ide-selection',
  'new-diagnostics',
  'invoke',
]

/** The character `<` that opens a tag, its wide and small forms, and characters that look like it. */
const tagOpeningSet = '<\u226e\uff1c\ufe64\u2039\u02c2\u1438\u276e\u2329\u27e8\u3008'
const hasOpen = new RegExp(`[${tagOpeningSet}]`)
/** Matches every character that may open a tag, for callers that escape all of these characters (JSON allows that) instead of searching for tags. */
export const tagOpeningCharacters = new RegExp(`[${tagOpeningSet}]`, 'g')

/** Matches the position before each character that may open a tag, to split a text into pieces with at most one tag each. */
const atOpen = new RegExp(`(?=[${tagOpeningSet}])`)

/** Escapes the tags of CLIs, also if disguised: with attributes, in any case and spacing, in look-alike letters, with accents, or behind a namespace. */
function withoutHostTags(text: string, more: readonly string[]): string {
  if (!hasOpen.test(text)) return text
  const pattern = tagPattern(more)
  const pieces = text.split(atOpen).map((piece) => (pattern.test(folded(piece)) ? `&lt;${piece.slice(1)}` : piece))
  return pieces.join('')
}

/** Returns the text without accents and other marks, and with wide, raised and ornate letters as plain ones, so that tags in disguise match too. */
function folded(text: string): string {
  return plainTextPattern.test(text) ? text : text.normalize('NFKD').replace(/\p{M}+/gu, '')
}

/** Characters that may stand between the words of a tag: blanks, dashes, and characters that look like a dash. */
const tagWordSeparators = String.raw`\s\p{Pd}\p{Pc}.\u00af\u02c9\u02d7\u2043\u207b\u208b\u2212\u2796\u30fc\u4e00`

const patterns = new Map<string, RegExp>()

/** Returns the pattern for the tags of CLIs. It is made on first use, because a hook program that has nothing to tell its agent does not need it. */
function tagPattern(more: readonly string[]): RegExp {
  const known = patterns.get(more.join())
  if (known) return known
  const spelled = (tag: string, between: string) => tag.split('-').map(wordPattern).join(between)
  const names = [
    ...[...hostTags, ...more].map((tag) => spelled(tag, `[${tagWordSeparators}]*`)),
    `(?:${exactTags.map((tag) => spelled(tag, `[${tagWordSeparators}]+`)).join('|')})(?![\\p{L}\\p{N}])`,
  ]
  const before = String.raw`[\s/\uff0f\u2044\u2215\\!?|]*(?:[\p{L}\p{N}_-]{1,20}:)?`
  const pattern = new RegExp(`^[${tagOpeningSet}]${before}(?:${names.join('|')})`, 'u')
  patterns.set(more.join(), pattern)
  return pattern
}

/**
 * Letters that look like ASCII letters: letters of other scripts, small capitals, and letters with a stroke, which Unicode's normalization does not take apart.
 */
const lookalikes: Record<string, string> = {
  a: 'аАαΑᴀ',
  b: 'ВвʙƀΒ',
  c: 'сСςᴄȼ',
  d: 'ԁᴅđ',
  e: 'еЕєεΕᴇɇ',
  f: 'ꜰƒ',
  g: 'ɢǥɡ',
  h: 'һНʜħΗ',
  i: 'іІιıɪɨΙ',
  j: 'јЈᴊɉ',
  k: 'кКκᴋΚ',
  l: 'І|1ʟłƚӏ',
  m: 'мМᴍΜ',
  n: 'ոΝпɴ',
  o: 'оОοΟ0ᴏøσ',
  p: 'рРρᴘΡ',
  r: 'гʀɍ',
  s: 'ѕЅꜱ',
  t: 'тТτᴛŧΤ',
  u: 'υսᴜʉ',
  v: 'ѵνᴠ',
  w: 'ԝωᴡ',
  x: 'хХχΧ',
  y: 'уУүγʏΥ',
}

/**
 * The first letters of alphabets whose letters are consecutive in Unicode: ASCII, and letters on dark circles and squares, which Unicode's normalization leaves
 * as they are.
 */
const alphabets = [0x41, 0x61, 0x1f150, 0x1f170]

function wordPattern(word: string): string {
  return [...word].map((letter) => `[${variantsOf(letter)}]`).join('')
}

function variantsOf(letter: string): string {
  const at = letter.charCodeAt(0) - 0x61
  return alphabets.map((first) => String.fromCodePoint(first + at)).join('') + (lookalikes[letter] ?? '')
}
