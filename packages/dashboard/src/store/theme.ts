// The light or dark theme: the system's, unless the person chose one. The browser keeps the choice.

import { Cell } from './cell.ts'
import { readStored, writeStored } from './workspace-storage.ts'

const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const place = 'agent-relay.theme'
const wish = matchMedia('(prefers-color-scheme: dark)')

export const theme = new Cell<Theme>(themes.find((each) => each === readStored(place)) ?? 'system')
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
    writeStored(place, theme.value)
    apply()
  })
}

export function nextTheme(): void {
  theme.set(isDark.value ? 'light' : 'dark')
}
