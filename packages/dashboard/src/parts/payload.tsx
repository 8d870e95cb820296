// The payload of a run: fetched on request, and shown file by file, as JSON or as text. The person can save it as a file.

import { cleanLine, sizeText } from '@agent-relay/sdk/internal/page'
import { useMemo, useState } from 'react'
import { payloadOf } from '../store/runs.ts'
import { useAsyncAction } from './async-action.ts'
import { Button, FailureText, LongText } from './bits.tsx'
import { Code } from './code.tsx'
import { download } from './download.ts'
import { type PayloadFile, payloadFiles } from './payload-files.ts'
import './payload.css'

export function RunPayload({ run, bytes }: { run: string; bytes: number }) {
  const [text, setText] = useState<string>()
  const { why, attempt } = useAsyncAction()
  const show = () => attempt(async () => setText(await payloadOf(run)))
  return (
    <section>
      <h3>Payload, {sizeText(bytes)}</h3>
      <FailureText text={why} />
      {text === undefined ? <Button onClick={show}>Show</Button> : <Shown run={run} text={text} />}
    </section>
  )
}

function Shown({ run, text }: { run: string; text: string }) {
  const files = useMemo(() => payloadFiles(text), [text])
  const json = useMemo(() => asJson(text), [text])
  const save = (): void => download(`${run}.${json === undefined ? 'txt' : 'json'}`, text)
  return (
    <>
      <Button onClick={save}>Download</Button>
      {files ? (
        <ul className="files">
          {files.map((file, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a payload never changes, and may name a file twice
            <OneFile key={i} file={file} isOpen={files.length === 1} />
          ))}
        </ul>
      ) : (
        <LongText className="pre mono" text={json ?? text} />
      )}
    </>
  )
}

/** How much of a file is shown: longer text would block the page; the download has all of it. */
const shownChars = 100_000

/** One file of a payload. Its content is drawn only once it is opened, since a payload may have hundreds of files. */
function OneFile({ file: { path, text }, isOpen }: { file: PayloadFile; isOpen: boolean }) {
  const [isShown, setShown] = useState(isOpen)
  const [, language = ''] = /\.(\w+)$/.exec(path) ?? []
  return (
    <li>
      <Button className="file-head" aria-expanded={isShown} onClick={() => setShown(!isShown)}>
        <span className="mono clip">{cleanLine(path)}</span>
        <span className="muted small num">{sizeText(text.length)}</span>
      </Button>
      {isShown && <Code text={text.slice(0, shownChars)} language={language} />}
      {isShown && text.length > shownChars && (
        <p className="muted small">This is only the beginning: download the payload.</p>
      )}
    </li>
  )
}

/** Returns the text as indented JSON; undefined if the text is not JSON. */
function asJson(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return undefined
  }
}
