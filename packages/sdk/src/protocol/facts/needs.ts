// The fact about needs (things that wait for a person): a need was dismissed.

/**
 * A person dismissed a need without answering it. `through`: the `seq` of the newest message that the person dismissed; 0 if the need is not about messages.
 */
export interface NeedDismissed {
  type: 'need.dismissed'
  agent: string
  key: string
  through: number
}
