/** Gives properties the same values in each run and stops them at their first failure: a mutant survives or not, whenever it runs. */
import { configureGlobal } from 'fast-check'

configureGlobal({ seed: 1, endOnFailure: true })
