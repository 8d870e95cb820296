// Tests of code colouring in a thread, one text after the other: a text that takes too long, or fails, loses only its own colours.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { CodeHighlighter, type HighlightRequest, type HighlightThread } from '../src/parts/code-highlighter.ts'
import { highlighted } from '../src/parts/highlight.ts'

/** What a browser's Worker is to whoever has started it. It is ready when it is told to be, and never answers what is endless. */
class Thread implements HighlightThread {
  onmessage: HighlightThread['onmessage'] = null
  onerror: HighlightThread['onerror'] = null
  readonly asked: string[] = []
  isOver = false

  ready(): void {
    this.onmessage?.({ data: { isReady: true } })
  }

  postMessage({ code, language }: HighlightRequest): void {
    this.asked.push(code)
    if (code === 'endless') return
    queueMicrotask(() => this.onmessage?.({ data: { nodes: highlighted(code, language) } }))
  }

  terminate(): void {
    this.isOver = true
  }
}

let threads: Thread[]
let colours: CodeHighlighter
beforeEach(() => {
  vi.useFakeTimers()
  threads = []
  colours = new CodeHighlighter(() => {
    threads.push(new Thread())
    return threads.at(-1) as Thread
  })
})
afterEach(() => void vi.useRealTimers())

const of = (code: string, language = 'js') => colours.of({ code, language })
const keyword = (text: string) => ({ className: 'hljs-keyword', children: [text] })

test('one text after the other, in a thread that starts with the first', async () => {
  expect(threads).toEqual([])
  const both = Promise.all([of('let a'), of('const b'), of('x', 'nonesuch')])
  expect(threads).toHaveLength(1)
  expect(threads[0]?.asked).toEqual([])
  threads[0]?.ready()
  expect(await both).toEqual([[keyword('let'), ' a'], [keyword('const'), ' b'], undefined])
  expect(threads[0]?.asked).toEqual(['let a', 'const b', 'x'])
})

test('a text that takes too long has no colours; the next has, from another thread', async () => {
  const [endless, next] = [of('endless'), of('let a')]
  // However long the thread takes to load.
  vi.advanceTimersByTime(60_000)
  threads[0]?.ready()
  vi.advanceTimersByTime(60_000)
  expect(await endless).toBeUndefined()
  expect(threads.map(({ isOver }) => isOver)).toEqual([true, false])
  // What the first still says is the answer to nothing.
  threads[0]?.onmessage?.({ data: { nodes: ['late'] } })
  threads[1]?.ready()
  expect(await next).toEqual([keyword('let'), ' a'])
})

test('a thread that cannot be loaded costs the colours', async () => {
  const found = of('let a')
  threads[0]?.onerror?.({} as never)
  expect(await found).toBeUndefined()
})

test('code in very many pieces has no colours', () => {
  expect(highlighted('let a\n'.repeat(1_000), 'js')).toHaveLength(2_000)
  expect(highlighted('1,'.repeat(4_000), 'js')).toBeUndefined()
})
