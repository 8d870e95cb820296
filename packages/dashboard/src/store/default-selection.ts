// Opens a view on its most useful entry, if the address names none. On a narrow screen the list is the view's first page, so it stays.

import { useEffect } from 'react'
import { replaceAddress } from './page-address.ts'
import type { ViewName } from './views.ts'

export function useDefaultSelection(view: ViewName, isChosen: boolean, first: string | undefined): void {
  useEffect(() => {
    if (!isChosen && first !== undefined && matchMedia('(min-width: 761px)').matches) replaceAddress(view, [first])
  }, [view, isChosen, first])
}
