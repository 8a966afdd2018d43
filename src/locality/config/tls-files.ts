/** Reads and checks the TLS files of a system, so that a file that no connection can use replaces none that one can. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { describeFileError } from '../../base/file-error.ts'
import { certificateProblem } from '../../base/net/certificate-text.ts'
import type { TlsFiles } from '../http/dispatchers.ts'

type FileKey = 'caFile' | 'certFile' | 'keyFile'

/**
 * Returns the texts of the files, as one text.
 *
 * @param file the name of the configuration in errors
 * @throws Error if a file cannot be read or used
 */
export async function readTlsFiles(tls: TlsFiles, file: string): Promise<string> {
  const refuse = (key: FileKey, problem: string, cause?: unknown) =>
    new Error(`${file}: endpoint.tls.${key}: ${tls[key]}: ${problem}`, { cause })
  async function read(key: FileKey): Promise<string> {
    const name = tls[key]
    if (name === undefined) return ''
    const text = await readFile(name, 'utf8').catch((cause: Error) => {
      throw refuse(key, describeFileError(cause), cause)
    })
    // With an empty file, Node.js trusts the CAs of the system.
    const isChecked = key === 'certFile' || (key === 'caFile' && text !== '' && !tls.insecureSkipVerify)
    const problem = isChecked ? certificateProblem(text) : undefined
    if (problem !== undefined) throw refuse(key, problem)
    return text
  }
  const [ca, cert, key] = await Promise.all([read('caFile'), read('certFile'), read('keyFile')])
  const fault = tls.certFile === undefined ? undefined : pairProblem(cert, key)
  if (fault !== undefined) throw refuse(fault.key, fault.problem)
  return [ca, cert, key].join('\n')
}

/**
 * Returns why a connection cannot use a certificate with this key; undefined if it can. With a key of another type, or an empty one, Node.js sends no
 * certificate, and does not say so.
 */
function pairProblem(cert: string, key: string): { key: FileKey; problem: string } | undefined {
  const certificate = parsed(() => new X509Certificate(cert))
  if (!certificate) return { key: 'certFile', problem: 'has an invalid certificate' }
  const privateKey = parsed(() => createPrivateKey(key))
  if (!privateKey) return { key: 'keyFile', problem: 'has no private key in PEM form without a passphrase' }
  if (certificate.checkPrivateKey(privateKey)) return undefined
  return { key: 'keyFile', problem: 'is not the key of the certificate in certFile' }
}

function parsed<T>(parse: () => T): T | undefined {
  try {
    return parse()
  } catch {
    // Every error is one of OpenSSL about the text. Its message does not name the cause.
    return undefined
  }
}
