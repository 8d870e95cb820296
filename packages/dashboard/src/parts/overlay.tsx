// A modal sheet over the page: takes the focus, closes with Escape, with a click beside it or when the page's address changes, and gives the focus back.

import { type ReactNode, useEffect, useLayoutEffect, useRef } from 'react'
import './overlay.css'

export function Overlay({ label, onClose, children }: { label: string; onClose(): void; children: ReactNode }) {
  const sheet = useRef<HTMLDialogElement>(null)
  const before = useRef<Element>(null)
  // A layout effect, which runs before the next key press: that key is meant for the sheet.
  useLayoutEffect(() => {
    before.current = document.activeElement
    sheet.current?.showModal()
  }, [])
  // Gives the focus back after the sheet has closed: before that, nothing below the sheet can take the focus.
  useEffect(() => () => (before.current as HTMLElement | null)?.focus?.(), [])
  useEffect(() => {
    addEventListener('hashchange', onClose)
    return () => removeEventListener('hashchange', onClose)
  }, [onClose])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the dialog element itself handles Escape
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
