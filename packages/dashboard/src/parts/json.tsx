// Shows a value as indented JSON text.

import { LongText } from './bits.tsx'

export function Json({ value }: { value: unknown }) {
  return <LongText className="mono json" text={JSON.stringify(value, null, 2) ?? 'undefined'} />
}
