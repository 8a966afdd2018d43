/** The validation rules of data in Azure Blob Storage. No message repeats the URL, which may have a SAS token. */
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import { isContainerName, parseBlobUrl } from '../../../base/net/azure-address.ts'
import { withoutTrailingSlashes } from '../../../base/net/url-encoding.ts'
import {
  credentials,
  endpoint,
  hostMessage,
  isSafeKey,
  problem,
  type Rule,
  required,
  secretName,
  verify,
  whenSet,
} from './option-rules.ts'
import { endpointHost, isEndpoint } from './options.ts'

const SECRET = 'azureCredentialsSecretName'
const EXAMPLE = 'https://ACCOUNT.blob.core.windows.net'

const blobUrl: Rule = whenSet('sourceURL', (url, { options = {} }, limits) => {
  const { endpointURL = '' } = options
  if (url.includes('?')) {
    return 'sourceURL cannot have a query: write a SAS token into the key azurestorageaccountsastoken of the Secret, and renew this one.'
  }
  if (endpointURL && !url.startsWith(`${withoutTrailingSlashes(endpointURL)}/`)) {
    return 'sourceURL has to begin with endpointURL.'
  }
  const source = parseBlobUrl(url, endpointURL)
  if (!source || !isEndpoint(source.endpoint) || !isSafeKey(source.key)) {
    return `sourceURL has to be the URL of a container, a folder or a blob, e.g. ${EXAMPLE}/container/folder/.`
  }
  return isContainerName(source.container)
    ? hostMessage('sourceURL', endpointHost(source.endpoint), limits)
    : 'sourceURL has to have the name of a container after the server: 3 to 63 lower-case letters, digits and "-".'
})

export const AZURE_BLOB: readonly Rule[] = [
  credentials(SECRET),
  secretName(SECRET),
  required('sourceURL'),
  blobUrl,
  endpoint('endpointURL', EXAMPLE),
  verify,
]

/** Whether the data of a stream comes from Azure: the option for its credentials says so. */
export function isAzureStream({ options = {} }: VolumeConfig): boolean {
  return options[SECRET] !== undefined
}

/** Rejects an option of S3 in a stream from Azure. */
export function onlyForS3(option: string): Rule {
  return ({ options = {} }) =>
    options[option] === undefined
      ? undefined
      : problem(`options.${option}`, 'Forbidden', `${option} cannot be set when ${SECRET} is: the data is in Azure.`)
}
