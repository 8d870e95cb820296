// The rule about time in tests: no test measures the machine it runs on. Speed and memory are rows of test/bench, each against a floor of the same
// run. tidy.ts runs it.

interface Test {
  path: string // from the root
  bare: string // without comments and the insides of strings
}

const measure =
  /(?<!timeout|timeout_)(?:Ms|_ms)(?:Max)?\b|(?:Mb|Seconds)(?:Max)?\b|\b(?:ms|mb|seconds|took|times|added|median|longest|p9[59]\w*|elapsed|lags?|rss\w*|resident|heap\w*|grown\w*|performance\.now|Date\.now|cpuUsage|memoryUsage|utilization|mebibyte)\b|VmRSS|user \+ system/
const bound = /\.toBeLessThan(?:OrEqual)?\(/

/** Each rule finds a fault in a line, and says what to write instead. */
const rules: [isWrong: (line: string, path: string) => boolean, fix: string][] = [
  [
    (line) => bound.test(line) && measure.test(line),
    'measures the machine; say what happens and in which order, and make it a row of test/bench (a leak: expectNoLeak)',
  ],
  [
    // Spared are tests of real CLIs, whose inside cannot be waited for, and programs that a test starts (.mjs), which play their part by the clock.
    (line, path) =>
      /\b(?:sleep|delay|pause)\(\s*[1-9]|\bsetTimeout\(\s*\w+\s*,\s*[1-9]/.test(line) &&
      /\.ts$/.test(path) &&
      !path.startsWith('test/real/'),
    'waits by a number; wait for the event with until(), or with aWhile() for what must not come',
  ],
  [(line) => /\bwhile \(.*\) \w+ = await /.test(line), 'asks again at once; wait for the event with until()'],
  [
    (line) => /\buntil\(.*,\s*[\d_]+\)|^\s*\}, [\d_]+\)$|\{ timeout: [\d_ *]+ \}, (?:async )?\(/.test(line),
    'has a limit of its own; the one limit is guardMs of test/guard.ts',
  ],
]

const isSpared = (path: string) => /^test\/(?:bench\/|guard\.ts$|until\.ts$)/.test(path)

/** Finds each line of a test that judges by the clock or by memory. */
export function measuredTime(tests: Test[]): string[] {
  return tests
    .filter(({ path }) => !isSpared(path))
    .flatMap(({ path, bare }) =>
      bare.split('\n').flatMap((line, at) => {
        const rule = rules.find(([isWrong]) => isWrong(line, path))
        return rule ? [`${path}:${at + 1}: ${rule[1]}`] : []
      }),
    )
}
