// The types of the scripted model.

export interface Heard {
  text: string
  tools: { name: string }[]
  /** The results of tools since the model's last word, block by block, as the model is given them. */
  results: string[][]
}

export interface Said {
  text?: string
  tool?: { name: string }
  args?: Record<string, unknown>
  isRefused?: true
}

export interface Asked {
  path: string
  /** The request as the CLI sent it. */
  body?: unknown
  heard?: Heard
  said?: Said
  /** When it answered, in milliseconds since 1970. */
  wallAt?: number
  error?: unknown
  /** The CLI hung up before the answer was whole. */
  isCut?: boolean
}

export function startFakeModel(
  onRequest?: (asked: Asked) => void,
  script?: (heard: Heard, body: unknown) => Promise<Said | undefined>,
): Promise<{ url: string; close(): void }>
