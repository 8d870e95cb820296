// Facts about needs (things that wait for a person): a person has dismissed one.

/** A person has dismissed a need without an answer. `through` is the `seq` of the last message that this covers; 0 if the need is not about messages. */
export interface NeedDismissed {
  type: 'need.dismissed'
  agent: string
  key: string
  through: number
}
