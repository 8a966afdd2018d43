// A broken guarantee, and the name of the guarantee.

export class Violation extends Error {
  override name = 'Violation'
  readonly guarantee: string
  constructor(guarantee: string, message: string) {
    super(`${guarantee}: ${message}`)
    this.guarantee = guarantee
  }
}
