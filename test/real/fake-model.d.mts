// The types of the scripted model.

export interface Asked {
  path: string
  heard?: { text: string; tools: { name: string }[] }
  said?: { text?: string; tool?: { name: string }; args?: Record<string, unknown> }
  error?: unknown
  /** The CLI hung up before the answer was whole. */
  isCut?: boolean
}

export function startFakeModel(onRequest?: (asked: Asked) => void): Promise<{ url: string; close(): void }>
