/** Reads files, and parses certificates and key pairs from named PEM texts. Errors name the file and its place. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describeFileError } from '../base/file-error.ts'
import { BrokenCertificatesError } from './storage.ts'
import { belongsTo, type ParsedCertificate, type PemPair, parseCertificates } from './x509.ts'

/** A place of certificates, as errors name it. */
export interface StoragePlace {
  /** For example `Secret lodestone-system/lodestone-certificates`. */
  name: string
  /** The remedy, as a clause in the imperative. */
  remedy: string
}

export type PemFiles = Readonly<Partial<Record<string, string>>>

/**
 * Reads the files with these names; those that are missing are left out, and checked after all are read. Throws `BrokenCertificatesError` if
 * one cannot be read.
 */
export async function readPemFiles<Name extends string>(
  folder: string,
  names: readonly Name[],
  place: StoragePlace,
): Promise<Partial<Record<Name, string>>> {
  const files: Partial<Record<Name, string>> = {}
  for (const name of names) {
    try {
      files[name] = await readFile(join(folder, name), 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue
      const problem = `${name} cannot be read: ${describeFileError(error)}`
      throw new BrokenCertificatesError(`${place.name}: ${problem}; let the user of this process read it`, {
        cause: error,
      })
    }
  }
  return files
}

/** Returns the certificates in one file, in order. Throws `BrokenCertificatesError` when the file is missing or has none. */
export function certificatesIn(
  name: string,
  files: PemFiles,
  place: StoragePlace,
): [ParsedCertificate, ...ParsedCertificate[]] {
  const text = files[name]
  if (text === undefined) throw broken(place, name, 'is missing')
  try {
    return parseCertificates(text)
  } catch (error) {
    throw broken(place, name, errorMessage(error), error)
  }
}

export interface PairInput {
  /** The certificate; undefined when `certName` does not have it. */
  certificate: ParsedCertificate | undefined
  certName: string
  keyName: string
}

/** Returns a certificate with its key. Throws `BrokenCertificatesError` when either is missing or they do not belong together. */
export function pairIn({ certificate, certName, keyName }: PairInput, files: PemFiles, place: StoragePlace): PemPair {
  const keyPem = files[keyName]
  if (keyPem === undefined) throw broken(place, keyName, 'is missing')
  if (certificate === undefined) throw broken(place, certName, `lacks the certificate that ${keyName} belongs to`)
  let fits: boolean
  try {
    fits = belongsTo(certificate, keyPem)
  } catch (error) {
    throw broken(place, keyName, errorMessage(error), error)
  }
  if (!fits) throw broken(place, keyName, `does not belong to the certificate in ${certName}`)
  return { certPem: certificate.pem, keyPem }
}

/** The error for an invalid file of a place. */
export function broken(place: StoragePlace, name: string, problem: string, cause?: unknown): BrokenCertificatesError {
  return new BrokenCertificatesError(`${place.name}: ${name} ${problem}; ${place.remedy}`, { cause })
}

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
