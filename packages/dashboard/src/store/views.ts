// The table of the page's views. The address, the menu, the keyboard shortcuts and the palette are made from this table. A view's component is the default
// export of views/NAME.tsx, with its style sheet beside it.

import { useCell } from './cell.ts'
import { conversations } from './conversations.ts'
import { needs } from './needs.ts'

interface ViewRow {
  /** The view's name, which is also the first part of its address. */
  name: string
  /** The view's entry in the menu. Unset if the view is not in the menu. */
  link?: {
    title: string
    /** The key that opens the view, pressed after `g`. */
    key: string
    /** The path of the view's SVG icon, 24 by 24. */
    picture: string
    /** A number shown beside the menu entry, with its meaning. */
    count?: { use(): number; label: string }
  }
}

const table = [
  {
    name: 'now',
    link: {
      title: 'Now',
      key: 'n',
      picture: 'M4 12h4l2.5-7 4 14 2.5-7H21',
      count: { use: () => useCell(needs).length, label: 'need you' },
    },
  },
  {
    name: 'talk',
    link: {
      title: 'Talk',
      key: 't',
      picture: 'M4 5h16v11H10l-5 4v-4H4z',
      count: {
        use: () => (useCell(conversations) ?? []).reduce((sum, { unread }) => sum + unread, 0),
        label: 'unread',
      },
    },
  },
  {
    name: 'agent',
    link: { title: 'Agents', key: 'a', picture: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM5 20c1-4 4-5 7-5s6 1 7 5' },
  },
  { name: 'runs', link: { title: 'Runs', key: 'r', picture: 'M7 5v14l11-7z' } },
  { name: 'actions', link: { title: 'Actions', key: 'c', picture: 'M13 3 5 14h6l-1 7 8-11h-6z' } },
  {
    name: 'recorder',
    link: { title: 'Recorder', key: 'f', picture: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 8v4l3 2' },
  },
  { name: 'everywhere' },
] as const satisfies readonly ViewRow[]

type Row = (typeof table)[number]
export type ViewName = Row['name']
export type ViewNameInUrl = Extract<Row, { link: unknown }>['name']

const rows: readonly (ViewRow & { name: ViewName })[] = table

export const findView = (name: string): ViewName | undefined => rows.find((each) => each.name === name)?.name

export const menu = rows.flatMap(({ name, link }) => (link ? [{ name: name as ViewNameInUrl, ...link }] : []))
