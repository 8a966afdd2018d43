/** Creates the folders of a dataset, each once. */
import { lstat, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { MoverError } from '../mover-error.ts'

export class Folders {
  readonly #root: string
  readonly #known = new Map<string, Promise<void>>()

  /** @param root the folder of the dataset, which exists */
  constructor(root: string) {
    this.#root = root
  }

  /**
   * Creates a folder and its parents. Throws when a part of the path is not a directory, since earlier attempts and pods write here too.
   */
  ensure(path: string): Promise<void> {
    const known = this.#known.get(path)
    if (known !== undefined) return known
    const made = this.#make(path)
    this.#known.set(path, made)
    return made
  }

  async #make(path: string): Promise<void> {
    if (path === this.#root) return
    await this.ensure(dirname(path))
    await mkdir(path).catch(refuseUnlessThere)
    if ((await lstat(path)).isDirectory()) return
    throw new MoverError('Rejected', `${path} is not a directory but a file or a symbolic link; remove it`)
  }
}

function refuseUnlessThere(cause: NodeJS.ErrnoException): void {
  if (cause.code !== 'EEXIST') throw cause
}
