// Error boundary: replaces a part of the page that failed to draw with a text to report; the rest of the page stays usable.

import { Component, type ReactNode } from 'react'
import { Button } from './bits.tsx'

interface BoundaryProps {
  /** The name of the wrapped part of the page, shown to people. */
  name: string
  children: ReactNode
}

/** An error boundary that tries to draw again when its React `key` changes; each view has its own key. */
export class ErrorBoundary extends Component<BoundaryProps, { error?: Error }> {
  override state: { error?: Error } = {}

  static getDerivedStateFromError(error: unknown): { error: Error } {
    return { error: error instanceof Error ? error : new Error(String(error)) }
  }

  override render(): ReactNode {
    const { name, children } = this.props
    const { error } = this.state
    if (!error) return children
    return (
      <div className="empty" role="alert">
        <p className="empty-title">{name} could not be shown</p>
        <p className="muted">
          The page has a fault, or the daemon has another version by now. What you have begun to write is kept.
        </p>
        <p className="mono small">{error.message}</p>
        <Button className="main-button" onClick={() => location.reload()}>
          Reload the page
        </Button>
      </div>
    )
  }
}
