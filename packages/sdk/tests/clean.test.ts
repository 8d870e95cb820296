// The cleaner: no invisible characters and no tags of a host are left, ordinary writing of every script passes, and clean text stays as it is.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  clean,
  cleanForModel,
  cleanLine,
  cleanLineForModel,
  mapTexts,
  oneLine,
  replaceInvisible,
} from '../src/internal/clean.ts'

describe('ordinary writing passes unchanged', () => {
  test.each([
    ['Hindi', 'हिन्दी में श्री क्षत्रिय, क्‍ष और र‍्य'],
    ['Persian', 'می‌خواهم کتاب‌های تازه‌ای بخرم'],
    ['Arabic', 'السَّلامُ عَلَيْكُم ۝ ٪'],
    ['Sinhala', 'ශ්‍රී ලංකාව'],
    ['Malayalam, old chillus at the end of words', 'അവന്‍ പറഞ്ഞു'],
    ['Mongolian with a chosen form', 'ᠠ᠋ᠨᠠ'],
    ['Hebrew, Thai, Khmer, Korean, Japanese, Chinese', 'שָׁלוֹם ไทย ខ្មែរ 한국어 日本語 中文'],
    ['accents in both forms', 'naïve naïve Ångström'],
    ['families, professions, tones', '👩‍👩‍👧‍👦 👨🏽‍💻 👩🏿‍❤️‍💋‍👩🏻 ❤️‍🔥 🧑‍🚀'],
    ['flags', '🇩🇪 🏳️‍🌈 🏴‍☠️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🏴󠁧󠁢󠁳󠁣󠁴󠁿 🏴󠁧󠁢󠁷󠁬󠁳󠁿'],
    ['keycaps and chosen presentations', '1️⃣ #️⃣ ©️ ☎︎ ✌🏽'],
    [
      'code',
      'if (a<b && c>d) {\n\treturn `<div class="system">$x</div>`\n}\nList<System.Linq> <system> <channel>\nPromise<ToolResult> <Invoker> <CommandName>\nusage: run <command> <input>',
    ],
    ['quotes and dashes', '“a” ‹b› «c» — d – e … 《书》'],
  ])('%s', (_, text) => {
    expect(clean(text)).toBe(text)
    expect(cleanForModel(text)).toBe(text)
  })
})

describe('what is taken out of a text', () => {
  test.each([
    ['zero-width space, soft hyphen, word joiner, byte order mark', 'a\u200bb\u00adc\u2060d\ufeffe', 'abcde'],
    ['fillers and vowel separators', 'a\u115fb\u1160c\u3164d\uffa0e\u180ef\u17b4g\u034fh', 'abcdefgh'],
    ['writing directions', 'a\u202eb\u2066c\u2069d\u200fe\u061cf', 'abcdef'],
    ['tag letters, also behind a flag', 'a\u{e0041}b 🏴\u{e0061}\u{e0062}\u{e007f}', 'ab 🏴'],
    ['joiners between Latin letters, at the ends, in a row', 'a\u200db\u200cc \u200d👩\u200d \u200d\u200d', 'abc 👩 '],
    ['two joiners between letters', 'می\u200c\u200cخ', 'میخ'],
    ['variation selectors that choose nothing', 'a\ufe0f1\ufe0f葛\u{e0100}❤\ufe0f\ufe0f\u{e0101}', 'a1葛❤\ufe0f'],
    ['terminal sequences, whole', '\u001b]0;title\u0007a\u001b[31mb\u001b[0mc\u009b1md\u0090x\u009ce', 'abcde'],
    ['controls', 'a\u0000b\u0007c\u007fd\u0008e', 'abcde'],
    ['noncharacters', 'a\ufffeb\ufdd0c', 'abc'],
  ])('%s', (_, text, cleaned) => {
    expect(clean(text)).toBe(cleaned)
  })

  test('every end of a line is a line feed, half a character is a replacement', () => {
    expect(clean('a\r\nb\rc\u0085d\u2028e\u2029f\vg\fh\ti')).toBe('a\nb\nc\nd\ne\nf\ng\nh\ti')
    expect(clean('a\ud800b\udc00')).toBe('a\ufffdb\ufffd')
    expect(oneLine('a\r\nb\rc\u0085d\u2028e\u2029f\vg\fh\ti')).toBe('a b c d e f g h i')
    expect(cleanLine(' a \r\n\t b\u200b ')).toBe('a b')
  })

  test.each([
    '<system-reminder>',
    '</system-reminder>',
    '<SYSTEM_Reminder priority="high">',
    '<  /\n system   reminder >',
    '<sys\u200btem-re\u00adminder>',
    '<\u202esystem-reminder',
    '＜ｓｙｓｔｅｍ－ｒｅｍｉｎｄｅｒ＞',
    '﹤/system‐reminder﹥',
    '<𝐬𝐲𝐬𝐭𝐞𝐦-𝓇eminder>',
    '<ѕуѕтем-reminder>',
    '‹system–reminder›',
    '<x:system-reminder>',
    '<!system-reminder',
    '<task-notification>',
    '<local-command-stdout>',
    '<environment_context>',
    '<function_calls>',
    '‹/systém-reminder>',
    '‹/s\u0305ystem-reminder>',
    '‹\u0301/system-reminder>',
    '<system\u2212reminder>',
    '<system\u02d7re\u0301mi\u0302nder>',
    '<şÿşţëṁ-ŕëṁïņđęŕ>',
    '<ꜱʏꜱᴛᴇᴍ-ʀᴇᴍɪɴᴅᴇʀ>',
    '<ѕуѕтём-reminder>',
    '<command-name>',
    '</command_message>',
    '<tool_use_error>',
    '</tool_result>',
    '<bash-input>',
    '<teammate-message from="x">',
    '<invoke name="x">',
  ])('the tag %j', (tag) => {
    expect(cleanForModel(`a ${tag} b`)).toMatch(/^a &lt;[^<＜﹤‹]* b$/su)
    expect(cleanLineForModel(tag)).toMatch(/^&lt;/)
  })

  test('a caller can name further tags to take out', () => {
    expect(cleanForModel('</channel><channel source="x">', ['channel'])).toBe('&lt;/channel>&lt;channel source="x">')
  })

  test('every text inside a value is cleaned', () => {
    const value = { 'a\u200b': ['<system-reminder>', 7, null, { b: 'c\u00ad' }], __proto__: 1 }
    expect(mapTexts(value, cleanForModel)).toEqual({ a: ['&lt;system-reminder>', 7, null, { b: 'c' }] })
    const hostile = JSON.parse('{"__proto__":{"x":"a\u200b"}}')
    expect(JSON.stringify(mapTexts(hostile, cleanForModel))).toBe('{"__proto__":{"x":"a"}}')
  })
})

/** Said apart from the cleaner: what a joiner, a selector or a tag letter may stand between. */
const mayStay =
  /(?<=\p{L}|\p{M}|\p{Extended_Pictographic}\ufe0f?|\p{Emoji_Modifier})[\u200c\u200d]|\ufe0e|\ufe0f|[\u180b-\u180d\u180f]/gu
const spelled = /\u{1f3f4}[\u{e0061}-\u{e007a}]{5}\u{e007f}/gu
const visibleFormat = /[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}]/gu

const piece = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('\u200d', '\u200c', '\u200b', '\ufe0f', '\u00ad', '\u180e', '\u3164', '\ufeff', '\u202e', '\u180b'),
  fc.constantFrom(
    '👩',
    '🏽',
    '❤',
    '1',
    '\u20e3',
    'क',
    '्',
    'م',
    'ᠠ',
    'a',
    '\u17b4',
    '\u{1f3f4}',
    '\u{e0067}',
    '\u{e007f}',
  ),
  fc.constantFrom('🏴󠁧󠁢󠁥󠁮󠁧󠁿', '👩‍👩‍👧', 'می‌خ', 'क्‍ष', '\ud83d', '\udc69', '\r', '\u0085'),
  fc.constantFrom('\u001b[', '\u001b]', '\u0007', '\u009b', '\u0090', '\u009c', '0', 'm', '\\'),
  fc.constantFrom('<', '＜', '/', 'system', '-', 'reminder', 'ｓystem', '_', ' ', '\n', '&lt;'),
)
const text = fc.array(piece, { maxLength: 24 }).map((pieces) => pieces.join(''))

describe('whatever a text holds', () => {
  test('no invisible character is left, except those that a script needs', () => {
    fc.assert(
      fc.property(text, (text) => {
        const rest = clean(text).replace(spelled, '').replace(mayStay, '').replace(visibleFormat, '')
        expect(rest).not.toMatch(/(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u)
      }),
      { numRuns: 3_000 },
    )
  })

  test('no tag is left for a model', () => {
    fc.assert(
      fc.property(text, (text) => {
        expect(cleanForModel(text).normalize('NFKC')).not.toMatch(/<[\s/]*system[\s_-]*reminder/i)
      }),
      { numRuns: 3_000 },
    )
  })

  test('cleaning twice is cleaning once', () => {
    fc.assert(
      fc.property(text, (text) => {
        for (const cleaner of [clean, cleanLine, cleanForModel, cleanLineForModel])
          expect(cleaner(cleaner(text))).toBe(cleaner(text))
      }),
      { numRuns: 3_000 },
    )
  })

  test('every visible character stays, in its order', () => {
    const seen = fc.string({ unit: fc.constantFrom(...'aZ9 é中한ไक<&>"\'\n\t🎉') })
    fc.assert(
      fc.property(seen, (text) => {
        expect(clean(text)).toBe(text)
      }),
    )
  })

  test('escaping covers every character that cleaning takes out', () => {
    fc.assert(
      fc.property(text, (text) => {
        const escaped = replaceInvisible(text, () => '').replace(/\p{Cs}/gu, '\ufffd')
        expect(clean(escaped)).toBe(escaped)
      }),
    )
  })
})

test('a body of 256 KiB is cleaned to its end, however hostile', () => {
  const bytes = 256 * 1024
  const bodies = [
    '\u200b',
    '\u0090',
    '\u001b]',
    '<',
    '<system-',
    '<system ',
    '<a-',
    'क्‍ष',
    '👩‍👩‍👧',
    '中',
    '\r',
    '\ud800',
  ]
  const whole = bodies.map((piece) => piece.repeat(bytes / Buffer.byteLength(piece)))
  for (const body of [
    ...whole,
    `\u001b[${'0'.repeat(bytes)}`,
    `<${' '.repeat(bytes)}`,
    `<system${' -'.repeat(bytes / 2)}`,
  ]) {
    const end = ' and its end'
    // The first character ends a control sequence.
    const cleaned = cleanForModel(`${body}~${end}`)
    expect(cleanForModel(cleaned) === cleaned).toBe(true)
    expect(cleaned.slice(-end.length)).toBe(end)
  }
})
