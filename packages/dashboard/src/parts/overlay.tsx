// A sheet over the page: takes the focus, closes with Escape, beside it or when the page goes elsewhere, and gives the focus back.

import { type ReactNode, useEffect, useLayoutEffect, useRef } from 'react'
import './overlay.css'

export function Overlay({ label, onClose, children }: { label: string; onClose(): void; children: ReactNode }) {
  const sheet = useRef<HTMLDialogElement>(null)
  const before = useRef<Element>(null)
  // Takes the focus before the next key, which is meant for the sheet.
  useLayoutEffect(() => {
    before.current = document.activeElement
    sheet.current?.showModal()
  }, [])
  // Gives the focus back after the sheet has closed: before that, nothing below it can take the focus.
  useEffect(() => () => (before.current as HTMLElement | null)?.focus?.(), [])
  useEffect(() => {
    addEventListener('hashchange', onClose)
    return () => removeEventListener('hashchange', onClose)
  }, [onClose])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape is the dialog's own
    <dialog
      ref={sheet}
      className="sheet"
      aria-label={label}
      onClose={onClose}
      onClick={(event) => event.target === sheet.current && onClose()}
    >
      {children}
    </dialog>
  )
}
