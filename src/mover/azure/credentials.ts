/** Reads the credentials of a storage account from a mounted Secret, again when it changes, or from the environment. */
import { isOfAccount } from '../../base/net/azure-address.ts'
import { CREDENTIAL_ENDPOINTS_VARIABLE } from '../../core/mover-contract/contract.ts'
import { MoverError } from '../mover-error.ts'
import {
  ENDPOINTS_FILE,
  needAllowed,
  parseEndpoints,
  readSecretFile,
  rereading,
  secretText,
} from '../objects/credentials.ts'

/** A SAS token as the parameters of a query, or the key of the account. */
export type AzureCredentials =
  | { kind: 'sas'; query: readonly (readonly [name: string, value: string])[] }
  | { kind: 'key'; account: string; key: Buffer }

/** Returns the credentials; undefined for anonymous requests. */
export type AzureCredentialSource = () => Promise<AzureCredentials | undefined>

/** A value by its key in the Secret and by its environment variable: those of the Blob CSI driver, and those of the Azure CLI. */
const ACCOUNT = { file: 'azurestorageaccountname', variable: 'AZURE_STORAGE_ACCOUNT' }
const SAS = { file: 'azurestorageaccountsastoken', variable: 'AZURE_STORAGE_SAS_TOKEN' }
const KEY = { file: 'azurestorageaccountkey', variable: 'AZURE_STORAGE_KEY' }
const ENDPOINTS = { file: ENDPOINTS_FILE, variable: CREDENTIAL_ENDPOINTS_VARIABLE }

type Read = (name: typeof ACCOUNT) => Promise<string | undefined>

/**
 * Opens the credentials for an endpoint. The source throws `AccessDenied` when a value is missing or invalid, or must not be sent to the
 * endpoint.
 *
 * @param directory the mounted Secret; without it, the credentials are in the environment
 */
export function openAzureCredentials(
  directory: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  endpoint: string,
): AzureCredentialSource {
  if (directory !== undefined) {
    return rereading(() => readCredentials(({ file }) => readSecretFile(directory, file), endpoint))
  }
  const textOf = ({ variable }: typeof ACCOUNT) => secretText(env[variable])
  if ([ACCOUNT, SAS, KEY].every((one) => textOf(one) === undefined)) return async () => undefined
  return rereading(() => readCredentials(async (one) => textOf(one), endpoint))
}

async function readCredentials(read: Read, endpoint: string): Promise<AzureCredentials> {
  const account = await read(ACCOUNT)
  if (account === undefined) throw denied(`the Secret has no ${ACCOUNT.file}`)
  needOwn(account, endpoint, parseEndpoints(await read(ENDPOINTS)))
  const sas = await read(SAS)
  // A SAS token has fewer rights than the key of its account.
  if (sas !== undefined) return { kind: 'sas', query: parseSas(sas) }
  const text = await read(KEY)
  if (text === undefined) throw denied(`the Secret has neither ${SAS.file} nor ${KEY.file}`)
  const key = Buffer.from(text, 'base64')
  if (key.length === 0) throw denied(`${KEY.file} of the Secret is not base64`)
  return { kind: 'key', account, key }
}

/**
 * Checks the endpoint. A SAS token is sent itself, and a signature by an account key is valid at every server. So the Secret must list a
 * server that is not the blob service of its account.
 */
function needOwn(account: string, endpoint: string, listed: readonly string[]): void {
  const origin = URL.parse(endpoint)?.origin ?? ''
  if (listed.length > 0 || !isOfAccount(origin, account)) needAllowed(endpoint, listed)
}

function parseSas(text: string): [string, string][] {
  // In a query, a plus sign is a space, which no SAS token has. A token that was decoded once has plus signs in its signature.
  const query = [...new URLSearchParams(text.replace(/^\?/, '').replaceAll('+', '%2B'))]
  if (query.some(([name, value]) => name === 'sig' && value !== '')) return query
  throw denied(`${SAS.file} of the Secret is not a SAS token: it has no sig`)
}

function denied(message: string): MoverError {
  return new MoverError('AccessDenied', `${message}; correct the Secret`)
}
