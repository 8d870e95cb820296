// Shows a value as the text of its JSON.

import { LongText } from './bits.tsx'

export function Json({ value }: { value: unknown }) {
  return <LongText className="mono json" text={JSON.stringify(value, null, 2) ?? 'undefined'} />
}
