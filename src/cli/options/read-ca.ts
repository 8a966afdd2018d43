/** Reads the file of a CA that an option names. */
import { readFileSync } from 'node:fs'
import { describeFileError } from '../../base/file-error.ts'
import { UsageError } from '../command.ts'

/** Returns the PEM text of a file. Throws `UsageError` if it has no certificate; `remedy` tells which file is meant. */
export function readCaFile(option: string, file: string, remedy: string): string {
  let pem: string
  try {
    pem = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new UsageError(`--${option} ${file}: ${describeFileError(cause)}`, { cause })
  }
  if (!pem.includes('-----BEGIN CERTIFICATE-----'))
    throw new UsageError(`--${option} ${file}: has no certificate in PEM form; ${remedy}`)
  return pem
}
