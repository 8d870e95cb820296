// The light or dark theme: the system's, unless the person chose one. The browser keeps the choice.

import { Cell } from './cell.ts'
import { keepHere } from './own-place.ts'

export type Theme = 'system' | 'light' | 'dark'

const place = 'agent-relay.theme'
const wish = matchMedia('(prefers-color-scheme: dark)')

export const theme = new Cell<Theme>((localStorage.getItem(place) as Theme | null) ?? 'system')
/** Whether the page is drawn dark. */
export const isDark = new Cell(false)

function apply(): void {
  isDark.set(theme.value === 'system' ? wish.matches : theme.value === 'dark')
  document.documentElement.dataset.theme = isDark.value ? 'dark' : 'light'
}

export function followTheme(): void {
  apply()
  wish.addEventListener('change', apply)
  theme.listen(() => {
    keepHere(place, theme.value)
    apply()
  })
}

export function nextTheme(): void {
  theme.set(isDark.value ? 'light' : 'dark')
}
