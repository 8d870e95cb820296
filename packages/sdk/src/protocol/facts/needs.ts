// Facts about needs: a person is done with one.

/** A person is done with a need, without an answer. `through`: up to the message with this `seq`; 0 where the need is not about messages. */
export interface NeedDismissed {
  type: 'need.dismissed'
  agent: string
  key: string
  through: number
}
