// A sheet over the page: takes the focus, closes with Escape, beside it or when the page goes elsewhere, and gives the focus back.

import { type ReactNode, useEffect, useRef } from 'react'

export function Overlay({ label, onClose, children }: { label: string; onClose(): void; children: ReactNode }) {
  const sheet = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null
    sheet.current?.showModal()
    return () => before?.focus?.()
  }, [])
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
