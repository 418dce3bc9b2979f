import { conforms } from '../../../test/conformance.ts'
import { fhir } from './fhir-stand-in.ts'

conforms(fhir)
