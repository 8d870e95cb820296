// Saves a range of journal events as a file, and opens such a file in the recorder in place of the journal.

import type { RelayEvent } from '@agent-relay/sdk/internal/page'
import { useRef, useState } from 'react'
import { useCell } from '../store/cell.ts'
import { connection } from '../store/connection.ts'
import { replaceAddress } from '../store/page-address.ts'
import { openedRecording, openRecording, recordingText } from '../store/recording.ts'
import { useAsyncAction } from './async-action.ts'
import { Button, FailureText } from './bits.tsx'
import { download } from './download.ts'
import './recording-tools.css'

export function RecordingTools({ events }: { events: readonly RelayEvent[] }) {
  const { workspace } = useCell(connection)
  const file = useCell(openedRecording)
  const [isBare, setBare] = useState(false)
  const { why, attempt } = useAsyncAction()
  const field = useRef<HTMLInputElement>(null)
  const [first, last] = [events[0], events.at(-1)]
  const save = (): void =>
    download(`${workspace}-${first?.seq}-${last?.seq}.events.jsonl`, recordingText(events, isBare))
  const open = (chosen: File | undefined) =>
    attempt(async () => {
      if (!chosen) return
      await openRecording(chosen)
      // Shows all types of events in the file: its events were chosen when the file was saved.
      replaceAddress('recorder', [], { types: '*' })
    })
  const choose = (): void => {
    if (!field.current) return
    // Resets the file field: otherwise choosing the same file again would cause no event.
    field.current.value = ''
    field.current.click()
  }
  return (
    <div className="bar recording-tools">
      <Button disabled={events.length === 0} onClick={save}>
        Save {events.length.toLocaleString()} event{events.length === 1 ? '' : 's'}
      </Button>
      <label className="small">
        <input type="checkbox" checked={isBare} onChange={(event) => setBare(event.target.checked)} />
        without what was written
      </label>
      <input
        ref={field}
        type="file"
        hidden
        aria-label="A recording"
        accept=".jsonl,application/jsonl"
        onChange={(event) => open(event.target.files?.[0])}
      />
      <Button onClick={choose}>Open a file</Button>
      {file && (
        <>
          <span className="tag clip" title={file.name}>
            {file.name}
          </span>
          <Button onClick={() => close()}>Back to {workspace}</Button>
        </>
      )}
      <FailureText text={why} />
    </div>
  )
}

function close(): void {
  openedRecording.set(undefined)
  replaceAddress('recorder')
}
