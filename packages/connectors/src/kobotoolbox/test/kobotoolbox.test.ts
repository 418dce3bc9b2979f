import { conforms } from '../../../test/conformance.ts'
import { kobo } from './kobotoolbox-stand-in.ts'

conforms(kobo)
