import { join } from 'node:path'

/** Lodestone as it is in the image: what is measured is what an operator runs. The npm scripts of the benchmarks build it. */
export const BUILT = join(import.meta.dirname, '..', 'dist', 'main.js')
