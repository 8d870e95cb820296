// The overlay that lists the keyboard shortcuts.

import { isHelpOpen, keyTexts } from '../store/keys.ts'
import { IconButton } from './bits.tsx'
import { Overlay } from './overlay.tsx'
import './help.css'

export function Help() {
  const close = (): void => isHelpOpen.set(false)
  return (
    <Overlay label="Keys" onClose={close}>
      <div className="bar sheet-head">
        <h2>Keys</h2>
        <IconButton icon="close" label="Close" onClick={close} />
      </div>
      <dl className="keys">
        {keyTexts.map(([keys, text]) => (
          <div key={keys}>
            <dt>
              {keys.split(/\s+/).map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </Overlay>
  )
}
