// The page's icons, drawn in the colour of the text beside them. The icons of views are in store/views.ts.

import { menu, type ViewNameInUrl } from '../store/views.ts'

const paths = {
  ...(Object.fromEntries(menu.map(({ name, picture }) => [name, picture])) as Record<ViewNameInUrl, string>),
  search: 'M11 17a6 6 0 1 0 0-12 6 6 0 0 0 0 12zM20 20l-4.5-4.5',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M19 5l-1.4 1.4M6.4 17.6 5 19',
  moon: 'M20 14A8 8 0 1 1 10 4a6.5 6.5 0 0 0 10 10z',
  bell: 'M6 17V11a6 6 0 1 1 12 0v6l2 1H4zM10 21h4',
  alert: 'M12 4 2.5 20h19zM12 10v4M12 17v.01',
  close: 'M6 6l12 12M18 6 6 18',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  reply: 'M9 7 4 12l5 5M4 12h10a6 6 0 0 1 6 6',
  smile: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM9 10v.01M15 10v.01M8.5 14.5c2 2 5 2 7 0',
  play: 'M8 5v14l11-7z',
  pause: 'M8 5v14M16 5v14',
  back: 'M15 5l-7 7 7 7',
  forward: 'M9 5l7 7-7 7',
  palette: 'M5 8l4 4-4 4M11 17h8',
  plus: 'M12 5v14M5 12h14',
}

export type IconName = keyof typeof paths

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  )
}
