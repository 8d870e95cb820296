// What a run handed over: fetched when asked, shown as JSON or text, and kept as a file if wanted.

import { useState } from 'react'
import { payloadOf } from '../store/runs.ts'
import { Failure, LongText } from './bits.tsx'
import { sizeText } from './size.ts'

export function Payload({ run, bytes }: { run: string; bytes: number }) {
  const [text, setText] = useState<string>()
  const [why, setWhy] = useState<string>()
  const show = (): void => {
    payloadOf(run).then(setText, (error) => setWhy(error.message))
  }
  const shown = text === undefined ? undefined : asJson(text)
  return (
    <section>
      <h3>Payload, {sizeText(bytes)}</h3>
      <Failure text={why} />
      {text === undefined ? (
        <button type="button" className="quiet" onClick={show}>
          Show
        </button>
      ) : (
        <>
          <button type="button" className="quiet" onClick={() => keep(run, text, shown !== undefined)}>
            Download
          </button>
          <LongText className="pre mono" text={shown ?? text} />
        </>
      )}
    </section>
  )
}

/** Laid out, if it is JSON. */
function asJson(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return undefined
  }
}

function keep(run: string, text: string, isJson: boolean): void {
  const address = URL.createObjectURL(new Blob([text], { type: 'application/octet-stream' }))
  const link = document.createElement('a')
  link.href = address
  link.download = `${run}.${isJson ? 'json' : 'txt'}`
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), 10_000)
}
