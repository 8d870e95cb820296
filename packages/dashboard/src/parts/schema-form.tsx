// A form made from a JSON Schema: a field for each value if possible, JSON as text for the rest. The daemon checks the values.

import { useId } from 'react'

type Schema = Record<string, unknown>
/** What the person has entered: text, the state of a switch, or the fields of an object. */
export type Draft = string | boolean | { [name: string]: Draft }

type FieldKind = 'object' | 'choice' | 'switch' | 'number' | 'text' | 'json'

function kindOf(schema: Schema): FieldKind {
  if (Array.isArray(schema.enum) || 'const' in schema) return 'choice'
  if (schema.type === 'object' && typeof schema.properties === 'object') return 'object'
  if (schema.type === 'boolean') return 'switch'
  if (schema.type === 'number' || schema.type === 'integer') return 'number'
  return schema.type === 'string' ? 'text' : 'json'
}

function fieldsOf(schema: Schema): [name: string, schema: Schema, isRequired: boolean][] {
  const required = Array.isArray(schema.required) ? schema.required : []
  return Object.entries((schema.properties ?? {}) as Record<string, Schema>).map(([name, each]) => [
    name,
    typeof each === 'object' ? each : {},
    required.includes(name),
  ])
}

const choicesOf = (schema: Schema): unknown[] => (Array.isArray(schema.enum) ? schema.enum : [schema.const])

export function draftOf(schema: Schema): Draft {
  const kind = kindOf(schema)
  if (kind === 'object') return Object.fromEntries(fieldsOf(schema).map(([name, each]) => [name, draftOf(each)]))
  if (kind === 'switch') return schema.default === true
  if (schema.default === undefined) return ''
  return typeof schema.default === 'string' ? schema.default : JSON.stringify(schema.default)
}

/** Reads the value of a filled form; throws if a field cannot be parsed. An empty field that is not required is left out. */
export function readDraft(schema: Schema, draft: Draft): unknown {
  const kind = kindOf(schema)
  if (kind === 'object') {
    const fields = draft as Record<string, Draft>
    const given = fieldsOf(schema).filter(
      ([name, each, isRequired]) => isRequired || !isEmpty(each, fields[name] ?? ''),
    )
    return Object.fromEntries(given.map(([name, each]) => [name, readDraft(each, fields[name] ?? '')]))
  }
  if (kind === 'switch') return draft === true
  const text = String(draft)
  if (kind === 'choice') return choicesOf(schema).find((each) => String(each) === text)
  if (kind === 'number') return text.trim() === '' ? undefined : Number(text)
  if (kind === 'text') return text
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(`This is not JSON: ${text.slice(0, 60)}`)
  }
}

function isEmpty(schema: Schema, draft: Draft): boolean {
  const kind = kindOf(schema)
  if (kind === 'object')
    return fieldsOf(schema).every(([name, each]) => isEmpty(each, (draft as Record<string, Draft>)[name] ?? ''))
  return kind === 'switch' ? draft === false && schema.default === undefined : draft === ''
}

interface FormProps {
  schema: Schema
  draft: Draft
  onChange(draft: Draft): void
}

export function SchemaForm({ schema, draft, onChange }: FormProps) {
  if (kindOf(schema) !== 'object')
    return <Field name="input" schema={schema} isRequired draft={draft} onChange={onChange} />
  const fields = draft as Record<string, Draft>
  const all = fieldsOf(schema)
  if (all.length === 0) return <p className="muted">This action needs no input.</p>
  return (
    <>
      {all.map(([name, each, isRequired]) => (
        <Field
          key={name}
          name={name}
          schema={each}
          isRequired={isRequired}
          draft={fields[name] ?? ''}
          onChange={(changed) => onChange({ ...fields, [name]: changed })}
        />
      ))}
    </>
  )
}

function Field({ name, schema, isRequired, draft, onChange }: FormProps & { name: string; isRequired: boolean }) {
  const id = useId()
  if (kindOf(schema) === 'object')
    return (
      <fieldset>
        <legend>{name}</legend>
        <SchemaForm schema={schema} draft={draft} onChange={onChange} />
      </fieldset>
    )
  const note = typeof schema.description === 'string' ? schema.description : undefined
  return (
    <div className="field">
      <label htmlFor={id}>
        {name}{' '}
        <span className="muted">{[typeText(schema), isRequired ? '' : 'optional'].filter(Boolean).join(', ')}</span>
      </label>
      <Input
        id={id}
        schema={schema}
        isRequired={isRequired}
        draft={draft}
        onChange={onChange}
        note={note ? `${id}-note` : undefined}
      />
      {note && (
        <p id={`${id}-note`} className="muted small">
          {note}
        </p>
      )}
    </div>
  )
}

function typeText(schema: Schema): string {
  return typeof schema.type === 'string' ? schema.type : Array.isArray(schema.enum) ? '' : 'JSON'
}

function Input({
  id,
  schema,
  isRequired,
  draft,
  onChange,
  note,
}: FormProps & { id: string; isRequired: boolean; note: string | undefined }) {
  const shared = { id, 'aria-describedby': note, required: isRequired }
  switch (kindOf(schema)) {
    case 'switch':
      return (
        <input
          id={id}
          aria-describedby={note}
          type="checkbox"
          checked={draft === true}
          onChange={(event) => onChange(event.target.checked)}
        />
      )
    case 'choice':
      return <Choice {...shared} choices={choicesOf(schema)} value={String(draft)} onChange={onChange} />
    case 'number':
      return (
        <input
          {...shared}
          type="number"
          step={schema.type === 'integer' ? 1 : 'any'}
          value={String(draft)}
          onChange={(event) => onChange(event.target.value)}
        />
      )
    case 'text':
      return (
        <textarea
          {...shared}
          rows={String(draft).includes('\n') ? 4 : 1}
          value={String(draft)}
          onChange={(event) => onChange(event.target.value)}
        />
      )
    default:
      return (
        <textarea
          {...shared}
          className="mono"
          rows={3}
          placeholder="JSON"
          value={String(draft)}
          onChange={(event) => onChange(event.target.value)}
        />
      )
  }
}

interface ChoiceProps {
  id: string
  'aria-describedby': string | undefined
  required: boolean
  choices: readonly unknown[]
  value: string
  onChange(value: string): void
}

function Choice({ choices, onChange, ...rest }: ChoiceProps) {
  return (
    <select {...rest} onChange={(event) => onChange(event.target.value)}>
      <option value="">choose</option>
      {choices.map((each) => (
        <option key={String(each)}>{String(each)}</option>
      ))}
    </select>
  )
}
