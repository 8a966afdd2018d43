/** The errors of Azure Blob Storage, with the remedy for the user. */
import { elementText } from '../../base/xml.ts'
import type { HttpResponse } from '../http/messages.ts'
import { type ErrorTable, type RefusalError, serverError } from '../http/server-error.ts'

const ACCESS =
  'the credentials do not allow this request; use another SAS token or key in the Secret, or allow it for the container'
const NOT_PUBLIC = 'the container is not public; set azureCredentialsSecretName of the volume'
const NO_BLOB = 'the blob does not exist; the source of a prefix must end in a slash'
const MISMATCH = 'the data was damaged in transit'

/** https://learn.microsoft.com/en-us/rest/api/storageservices/blob-service-error-codes */
const TABLE: ErrorTable = {
  byCode: {
    AuthenticationFailed: {
      code: 'AccessDenied',
      message:
        'the SAS token or the key is invalid or has expired, or the clock of the node is wrong; check the Secret',
    },
    AuthorizationFailure: { code: 'AccessDenied', message: `${ACCESS}, or in the network rules of the account` },
    PublicAccessNotPermitted: { code: 'AccessDenied', message: NOT_PUBLIC },
    NoAuthenticationInformation: { code: 'AccessDenied', message: NOT_PUBLIC },
    ContainerNotFound: { code: 'NotFound', message: 'the container does not exist; check the source and the endpoint' },
    BlobNotFound: { code: 'NotFound', message: NO_BLOB },
    ResourceNotFound: {
      code: 'NotFound',
      message: 'the container does not exist, or it is not public; check the source and azureCredentialsSecretName',
    },
    BlobAlreadyExists: { code: 'SourceChanged', message: 'another client has created the blob' },
    LeaseIdMissing: { code: 'Rejected', message: 'another client has a lease on the blob; release or break it' },
    BlobArchived: { code: 'Rejected', message: 'the blob is in the archive tier; rehydrate it first' },
    BlobBeingRehydrated: { code: 'Rejected', message: 'the blob is being rehydrated; retry when it is online' },
    Md5Mismatch: { code: 'ChecksumMismatch', message: MISMATCH },
  },
  byStatus: {
    401: { code: 'AccessDenied', message: ACCESS },
    403: { code: 'AccessDenied', message: ACCESS },
    404: { code: 'NotFound', message: 'the blob or container does not exist; check the source and the endpoint' },
    412: { code: 'SourceChanged', message: 'the blob has changed since it was listed' },
    416: { code: 'SourceChanged', message: 'the blob has become shorter since it was listed' },
  },
  retryable: new Set(['ServerBusy', 'OperationTimedOut', 'InternalError']),
  redirected: 'check the endpoint',
}

/** The error code of a response. A response to HEAD has it in a header only. */
export function azureErrorCode({ headers, text }: HttpResponse): string | undefined {
  return headers['x-ms-error-code'] ?? elementText(text, 'Code')
}

/** Returns the error for a response of status 300 or above; `what` names the blob. */
export function errorOfAnswer(what: string, response: HttpResponse): RefusalError {
  // The next lines have the ID and the time of the request. A proxy may repeat the URL with the signature of a SAS token.
  const [first = ''] = (elementText(response.text, 'Message') ?? '').split('\n')
  const message = first.replace(/sig(?:=|%3D)[^&\s"'<]*/gi, 'sig=…')
  return serverError(TABLE, what, response, { code: azureErrorCode(response), message })
}
