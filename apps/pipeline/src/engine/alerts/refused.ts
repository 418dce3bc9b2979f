/** Something did not take an alert. `permanent`: nor will it later. The message is one line without secrets. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly permanent: boolean

  constructor(message: string, permanent: boolean) {
    super(message)
    this.permanent = permanent
  }
}
